"""What is measured: nodes, caches, network, scheduler, software."""
