"""What the scripts share: results, graphs, methods and trained maps."""
