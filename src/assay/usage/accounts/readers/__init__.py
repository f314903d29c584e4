"""A module per format of accounts; ``assay.usage.accounts`` lists them."""
