"""What the use cases need from the machine: files, git, SQLite, the clock, the daemon's lock and token."""
