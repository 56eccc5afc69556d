// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @dev The native currency in place of a token.
address constant NATIVE = address(0);

/// @notice A token refused a call, or answered what no ERC-20 token answers; `reason` is what it said.
error TokenRefused(address token, bytes reason);

/// @notice Calls of tokens that nobody trusts. What a token says is never the reason of the caller: it is wrapped in
/// `TokenRefused`, so that no token can imitate an error of the guard.
library TokenCalls {
    /// @dev `asset` may be the native currency.
    function balanceOf(address asset, address owner) internal view returns (uint256) {
        if (asset == NATIVE) return owner.balance;
        return _read(asset, abi.encodeWithSignature("balanceOf(address)", owner));
    }

    function allowance(address token, address owner, address spender) internal view returns (uint256) {
        return _read(token, abi.encodeWithSignature("allowance(address,address)", owner, spender));
    }

    function transfer(address token, address to, uint256 amount) internal {
        _call(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
    }

    function transferFrom(address token, address from, address to, uint256 amount) internal {
        _call(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", from, to, amount));
    }

    /// @dev Some tokens refuse to change an allowance that is not 0, and some an approval of 0 that changes nothing.
    function approveExactly(address token, address spender, uint256 amount) internal {
        if (allowance(token, address(this), spender) != 0) _approve(token, spender, 0);
        if (amount != 0) _approve(token, spender, amount);
    }

    function _approve(address token, address spender, uint256 amount) private {
        _call(token, abi.encodeWithSignature("approve(address,uint256)", spender, amount));
    }

    function _read(address token, bytes memory data) private view returns (uint256) {
        (bool success, bytes memory answer) = token.staticcall(data);
        if (!success || answer.length < 32) revert TokenRefused(token, answer);
        return abi.decode(answer, (uint256));
    }

    /// @dev Tokens answer true, or nothing at all.
    function _call(address token, bytes memory data) private {
        (bool success, bytes memory answer) = token.call(data);
        bool agreed = answer.length == 0 ? token.code.length != 0 : answer.length >= 32 && abi.decode(answer, (uint256)) == 1;
        if (!success || !agreed) revert TokenRefused(token, answer);
    }
}
