"""The rebuildable index of everything that is recalled.

mirror       SearchIndex: what the rest of Coffer uses; survives whatever happens to its file
database     one open database: reconcile, search, list
reconcile    files into rows, in one transaction          search      a question into hits
scan         what changed, from stat alone                literal     pieces meant to the letter
reading      the bytes of one moment                      vocabulary  typing errors
readers      lane files into documents                    analyse     text into index terms
rows         documents into tables and back               schema      the tables
damage       what to do with a file that can't be used    connections who reads, who writes
threaded     all of it behind the use cases' port
"""
