// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1155} from "@openzeppelin/contracts/interfaces/IERC1155.sol";
import {IERC1155MetadataURI} from "@openzeppelin/contracts/interfaces/IERC1155MetadataURI.sol";
import {IERC165} from "@openzeppelin/contracts/interfaces/IERC165.sol";
import {IERC2981} from "@openzeppelin/contracts/interfaces/IERC2981.sol";
import {IERC4906} from "@openzeppelin/contracts/interfaces/IERC4906.sol";
import {IERC5267} from "@openzeppelin/contracts/interfaces/IERC5267.sol";
import {IERC5313} from "@openzeppelin/contracts/interfaces/IERC5313.sol";
import {IERC721} from "@openzeppelin/contracts/interfaces/IERC721.sol";
import {IERC721Metadata} from "@openzeppelin/contracts/interfaces/IERC721Metadata.sol";
import {IERC1155Errors, IERC721Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";

/// The standards according to OpenZeppelin.
contract Standards {
    function interfaceIds() external pure returns (bytes4[6] memory) {
        return [
            type(IERC165).interfaceId,
            type(IERC721).interfaceId,
            type(IERC721Metadata).interfaceId,
            type(IERC1155).interfaceId,
            type(IERC1155MetadataURI).interfaceId,
            type(IERC2981).interfaceId
        ];
    }

    /// The whole procedure of ERC-165, including its refusal of 0xffffffff.
    function supported(address account, bytes4[] calldata ids) external view returns (bool[] memory) {
        return ERC165Checker.getSupportedInterfaces(account, ids);
    }
}
