"""Storage: bandwidth by record size, parallel files, metadata."""
