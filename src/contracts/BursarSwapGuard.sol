// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {BursarSwapExecutor, Route} from "./BursarSwapExecutor.sol";
import {NATIVE, TokenCalls} from "./swap/TokenCalls.sol";

/// @title Swaps by a route that nobody trusts: its caller receives the minimum, or nothing happens.
/// @notice Wallets approve this contract. It has no owner, is immutable, and holds nothing. It calls a token only for its
/// balances and to move what the caller sells from the caller to the executor, and nothing else but its executor, which
/// makes the call of the route and which nobody approves.
///
/// A limit: what counts is how much more the caller has of the bought asset. A route that has somebody pay the caller what
/// the caller could have claimed anyway, such as a payout or the proceeds of an order, makes that count as its own.
contract BursarSwapGuard {
    using TokenCalls for address;

    struct Order {
        /// @dev The zero address is the native currency.
        address sold;
        address bought;
        /// @dev Of the sold asset: all that the caller can lose.
        uint256 amount;
        /// @dev Of the bought asset: the caller has this much more afterwards.
        uint256 minimum;
        /// @dev The last second in which a block may contain the swap.
        uint256 deadline;
        Route route;
    }

    BursarSwapExecutor public immutable executor;
    bool private transient locked;

    event Swapped(address indexed wallet, address sold, address bought, uint256 paid, uint256 received);

    constructor() {
        executor = new BursarSwapExecutor();
    }

    /// @notice Pays for the route from the caller, and gives the caller all that it brings.
    /// @return received how much more the caller has of the bought asset
    function swap(Order calldata order) external payable returns (uint256 received) {
        require(!locked, "A swap is being made");
        locked = true;
        (address sold, address bought, uint256 amount) = (order.sold, order.bought, order.amount);
        require(block.timestamp <= order.deadline, "Transaction too old");
        require(sold != bought, "The assets are the same");
        require(amount != 0 && order.minimum != 0, "An amount is 0");
        require(msg.value == (sold == NATIVE ? amount : 0), "The value is not the amount");

        // The value has left the caller already.
        uint256 before = bought.balanceOf(msg.sender);
        uint256 arrived = sold == NATIVE ? 0 : _take(sold, amount);
        uint256 left = executor.run{value: msg.value}(order.route, sold, bought, arrived, msg.sender);
        uint256 afterwards = bought.balanceOf(msg.sender);
        require(afterwards >= before && afterwards - before >= order.minimum, "Too little received");

        received = afterwards - before;
        emit Swapped(msg.sender, sold, bought, left < amount ? amount - left : 0, received);
        locked = false;
    }

    /// @return arrived what the executor has more: less than the amount, if the token keeps a part
    function _take(address sold, uint256 amount) private returns (uint256 arrived) {
        uint256 before = sold.balanceOf(address(executor));
        sold.transferFrom(msg.sender, address(executor), amount);
        uint256 afterwards = sold.balanceOf(address(executor));
        require(afterwards > before, "Nothing arrived");
        arrived = afterwards - before;
    }
}
