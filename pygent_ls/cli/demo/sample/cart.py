"""What a shopping cart costs. All amounts are in cents."""

FREE_SHIPPING_FROM = 5_000
SHIPPING = 490


def subtotal(prices):
    """What the goods cost."""
    return sum(prices)


def shipping(prices):
    """What sending them costs: nothing from FREE_SHIPPING_FROM on."""
    return 0 if subtotal(prices) > FREE_SHIPPING_FROM else SHIPPING


def total(prices):
    """What the customer pays."""
    return subtotal(prices) + shipping(prices)
