"""Anonymous output: replaces names of hosts, users, paths, systems, accounts and addresses."""
