"""Commands that measure, and that watch or profile programs."""
