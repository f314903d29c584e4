"""Anonymous output: names of hosts, users, paths, systems, accounts and addresses replaced."""
