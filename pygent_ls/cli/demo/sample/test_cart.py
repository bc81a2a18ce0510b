import unittest

from cart import total


class TotalTest(unittest.TestCase):
    def test_a_small_order_pays_for_shipping(self):
        self.assertEqual(total([1_000, 1_500]), 2_990)

    def test_an_order_of_exactly_50_ships_for_free(self):
        self.assertEqual(total([2_000, 3_000]), 5_000)

    def test_a_large_order_ships_for_free(self):
        self.assertEqual(total([9_900]), 9_900)


if __name__ == "__main__":
    unittest.main()
