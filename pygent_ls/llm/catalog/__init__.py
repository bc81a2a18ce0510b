"""What is known of models: limits, prices, abilities."""
