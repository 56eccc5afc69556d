// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {BursarERC1155} from "./BursarERC1155.sol";
import {BursarERC721} from "./BursarERC721.sol";
import {Collection} from "./nft/Collection.sol";
import {CollectionArgs, CollectionConfig} from "./nft/CollectionConfig.sol";

enum TokenStandard {
    ERC721,
    ERC1155
}

/// @title Creates collections: clones (EIP-1167) with their config appended to the code, at predictable addresses.
/// @notice It has no owner, is immutable, and holds no funds. An address is derived from the caller, its salt and the
/// whole config except the owner, so nobody else can take it and a retry cannot create a second collection.
contract BursarFactory {
    address public immutable erc721;
    address public immutable erc1155;

    event CollectionDeployed(
        address indexed collection, address indexed owner, address indexed deployer, TokenStandard standard, bytes32 salt
    );

    constructor() {
        erc721 = address(new BursarERC721());
        erc1155 = address(new BursarERC1155());
    }

    /// @notice Reverts when the caller deployed the same collection before.
    function deploy(TokenStandard standard, bytes32 salt, CollectionConfig calldata config)
        external
        returns (address collection)
    {
        collection = Clones.cloneDeterministicWithImmutableArgs(
            _implementation(standard), CollectionArgs.pack(config), _callerSalt(msg.sender, salt)
        );
        Collection(collection).initialize(config.owner);
        emit CollectionDeployed(collection, config.owner, msg.sender, standard, salt);
    }

    /// @notice The address at which `deploy` by this caller creates the collection.
    function predict(address deployer, TokenStandard standard, bytes32 salt, CollectionConfig calldata config)
        external
        view
        returns (address)
    {
        return Clones.predictDeterministicAddressWithImmutableArgs(
            _implementation(standard), CollectionArgs.pack(config), _callerSalt(deployer, salt)
        );
    }

    function _implementation(TokenStandard standard) private view returns (address) {
        return standard == TokenStandard.ERC721 ? erc721 : erc1155;
    }

    function _callerSalt(address deployer, bytes32 salt) private pure returns (bytes32) {
        return keccak256(abi.encode(deployer, salt));
    }
}
