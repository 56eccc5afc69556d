// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";

/// Accepts no safe transfers.
contract NoReceiver {}

/// OpenZeppelin's own receivers, with a function to spend what they hold.
contract GoodReceiver is ERC721Holder, ERC1155Holder {
    function run(address target, bytes calldata data) external {
        (bool ok,) = target.call(data);
        require(ok);
    }
}

contract RevertingReceiver {
    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        revert("not today");
    }

    function onERC1155Received(address, address, uint256, uint256, bytes calldata) external pure returns (bytes4) {
        revert("not today");
    }

    function onERC1155BatchReceived(address, address, uint256[] calldata, uint256[] calldata, bytes calldata)
        external
        pure
        returns (bytes4)
    {
        revert("not today");
    }
}

contract WrongReceiver {
    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return 0xdeadbeef;
    }

    function onERC1155Received(address, address, uint256, uint256, bytes calldata) external pure returns (bytes4) {
        return 0xdeadbeef;
    }

    function onERC1155BatchReceived(address, address, uint256[] calldata, uint256[] calldata, bytes calldata)
        external
        pure
        returns (bytes4)
    {
        return 0xdeadbeef;
    }
}

/// When it receives a token, it forwards it and then tries to take it from the sender again.
contract ReenteringReceiver {
    address private immutable _accomplice;
    bool public tookTwice;
    uint256 public calls;

    constructor(address accomplice) {
        _accomplice = accomplice;
    }

    function onERC721Received(address, address from, uint256 id, bytes calldata) external returns (bytes4) {
        calls += 1;
        IERC721(msg.sender).transferFrom(address(this), _accomplice, id);
        try IERC721(msg.sender).transferFrom(from, _accomplice, id) {
            tookTwice = true;
        } catch {}
        return this.onERC721Received.selector;
    }

    function onERC1155Received(address, address from, uint256 id, uint256 value, bytes calldata)
        external
        returns (bytes4)
    {
        calls += 1;
        IERC1155(msg.sender).safeTransferFrom(address(this), _accomplice, id, value, "");
        try IERC1155(msg.sender).safeTransferFrom(from, _accomplice, id, value, "") {
            tookTwice = true;
        } catch {}
        return this.onERC1155Received.selector;
    }
}
