"""Commands for job scripts, which users don't call themselves."""
