"""Other programs' settings, edited so that every byte which isn't ours stays what it was.

document    what both kinds of text offer, and where a fault in one of them is
json_text   where everything is in a JSON text with comments
json_edit   setting, appending and removing in such a text
toml_text   where everything is in a TOML text
toml_edit   setting and removing in such a text
files       reading the files, and replacing them whole or not at all
"""
