"""assay's code beside the site's, and published figures with the codes divided out."""
