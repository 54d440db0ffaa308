"""What clients do: transactions, their keys and mixes, and the loops that submit them."""
