// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721URIStorage} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";

/// OpenZeppelin's minimal ERC-721: tokens have no metadata of their own.
contract PlainERC721 is ERC721, Ownable {
    constructor() ERC721("Example Collection", "EXC") Ownable(msg.sender) {}

    function mint(address to, uint256 id) external onlyOwner {
        _mint(to, id);
    }

    function mintBatch(uint256 firstId, address[] calldata recipients) external onlyOwner {
        for (uint256 i = 0; i < recipients.length; i++) {
            _mint(recipients[i], firstId + i);
        }
    }
}

/// The same with a URI for each token, as `ipfs://` and a CID.
contract PlainERC721URIStorage is ERC721URIStorage, Ownable {
    constructor() ERC721("Example Collection", "EXC") Ownable(msg.sender) {}

    function mint(address to, uint256 id, string calldata uri) external onlyOwner {
        _mint(to, id);
        _setTokenURI(id, uri);
    }

    function mintBatch(uint256 firstId, address[] calldata recipients, string[] calldata uris) external onlyOwner {
        for (uint256 i = 0; i < recipients.length; i++) {
            _mint(recipients[i], firstId + i);
            _setTokenURI(firstId + i, uris[i]);
        }
    }
}

/// OpenZeppelin's ERC-1155 with one URI for all tokens.
contract PlainERC1155 is ERC1155, Ownable {
    constructor() ERC1155("") Ownable(msg.sender) {}

    function mint(address to, uint256 id, uint256 amount) external onlyOwner {
        _mint(to, id, amount, "");
    }

    function mintBatch(uint256 firstId, address[] calldata recipients, uint256[] calldata amounts) external onlyOwner {
        for (uint256 i = 0; i < recipients.length; i++) {
            _mint(recipients[i], firstId + i, amounts[i], "");
        }
    }
}
