// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {NATIVE, TokenCalls} from "./swap/TokenCalls.sol";

/// @notice A call that somebody else made up: it may do anything that its contracts allow to anybody.
struct Route {
    address target;
    /// @dev Who takes the sold token from the executor.
    address spender;
    bytes data;
}

/// @title Makes the call of a route for the guard.
/// @notice Nobody may ever approve this contract, and it keeps nothing: what lies in it belongs to the next caller.
/// Whatever a route does, it does it with the rights of this contract, which has none.
contract BursarSwapExecutor {
    using TokenCalls for address;

    address private immutable guard;

    error OnlyGuard();
    /// @notice The call of the route failed; `reason` is what it said.
    error RouteFailed(bytes reason);
    /// @notice The wallet does not take the native currency.
    error WalletRefused();

    constructor() {
        guard = msg.sender;
    }

    /// @notice Routers give native currency back to their caller.
    receive() external payable {}

    /// @notice Lets the spender take exactly `arrived` of the sold token for one call, and gives what is left of both
    /// assets to the wallet.
    /// @return left what was given back of the sold asset
    function run(Route calldata route, address sold, address bought, uint256 arrived, address wallet)
        external
        payable
        returns (uint256 left)
    {
        if (msg.sender != guard) revert OnlyGuard();
        if (sold != NATIVE) sold.approveExactly(route.spender, arrived);
        (bool success, bytes memory answer) = route.target.call{value: msg.value}(route.data);
        if (!success) revert RouteFailed(answer);
        if (sold != NATIVE) {
            sold.approveExactly(route.spender, 0);
            left = _giveBack(sold, wallet);
        }
        if (bought != NATIVE) _giveBack(bought, wallet);
        uint256 native = address(this).balance;
        if (sold == NATIVE) left = native;
        if (native != 0) {
            (bool taken,) = wallet.call{value: native}("");
            if (!taken) revert WalletRefused();
        }
    }

    function _giveBack(address token, address wallet) private returns (uint256 amount) {
        amount = token.balanceOf(address(this));
        if (amount != 0) token.transfer(wallet, amount);
    }
}
