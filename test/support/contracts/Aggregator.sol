// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// A contract that takes a token of its caller by an allowance, and then calls a router, until somebody closes it: from
/// then on it keeps what it gets.
contract Aggregator {
    bool private closed;

    function close() external {
        closed = true;
    }

    function run(address token, uint256 amount, address router, bytes calldata data) external payable {
        if (amount > 0) {
            take(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, address(this), amount));
            take(token, abi.encodeWithSignature("approve(address,uint256)", router, amount));
        }
        if (closed) return;
        (bool success,) = router.call{value: msg.value}(data);
        require(success, "the router failed");
    }

    function take(address token, bytes memory data) private {
        (bool success, bytes memory answer) = token.call(data);
        require(success && (answer.length == 0 || abi.decode(answer, (bool))), "the token refused");
    }
}
