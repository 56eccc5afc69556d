// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

interface IToken {
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

interface INft {
    function transferFrom(address from, address to, uint256 tokenId) external;
}

/// A contract of a tenant, for contract calls: it takes, pays, returns, logs and fails in many ways.
contract Callee {
    struct Point {
        int64 x;
        string label;
    }

    error Refused(address who, Point[] points);
    error Wrapped(bytes inner);

    event Counted(address indexed who, uint256 total, string note);
    event Noted(string indexed topic, bytes data);

    uint256 public total;
    mapping(uint256 => uint256) public landed;

    function count(uint256 by, string calldata note) external returns (uint256) {
        total += by;
        landed[by]++;
        emit Counted(msg.sender, total, note);
        emit Noted(note, hex"c0ffee");
        return total;
    }

    function pay(address payable to) external payable {
        (bool sent,) = to.call{value: msg.value}("");
        require(sent, "not paid");
    }

    function pull(address token, uint256 amount) external {
        require(IToken(token).transferFrom(msg.sender, address(this), amount), "not pulled");
    }

    function release(address token, uint256 amount) external {
        require(IToken(token).transfer(msg.sender, amount), "not released");
    }

    function note(uint256 times) external {
        for (uint256 i = 0; i < times; i++) emit Noted("", abi.encode(i));
    }

    /// With the approval of the sender.
    function take(INft collection, uint256 tokenId) external {
        collection.transferFrom(msg.sender, address(this), tokenId);
    }

    function overloaded(uint256 value) external pure returns (uint256) {
        return value + 1;
    }

    function overloaded(string calldata value) external pure returns (string memory) {
        return value;
    }

    function describe(Point calldata point, bytes4[2] calldata pair, bool flag)
        external
        pure
        returns (Point memory same, bytes4 last, bool, uint256 length)
    {
        return (point, pair[1], flag, bytes(point.label).length);
    }

    function refuse(bool deep) external view returns (uint256) {
        Point[] memory points = new Point[](1);
        points[0] = Point(-7, "here");
        bytes memory inner = abi.encodeWithSelector(Refused.selector, msg.sender, points);
        if (deep) revert Wrapped(abi.encodeWithSelector(Wrapped.selector, inner));
        revert Refused(msg.sender, points);
    }

    function element(uint256 at) external view returns (uint256) {
        uint256[] memory none = new uint256[](0);
        return none[at + total];
    }

    function loop() external view returns (uint256 n) {
        while (gasleft() > 0) n++;
    }

    function large(uint256 size) external pure returns (bytes memory) {
        return new bytes(size);
    }
}
