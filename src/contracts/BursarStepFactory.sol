// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {Collection} from "./nft/Collection.sol";
import {CollectionArgs, CollectionConfig} from "./nft/CollectionConfig.sol";

enum TokenStandard {
    ERC721,
    ERC1155
}

/// @title BursarFactory for chains where one transaction cannot create both implementations with it (EIP-8037).
/// @notice Its implementations are created by transactions of their own, from code that its constructor fixed. Otherwise
/// it is the same: no owner, immutable, without funds, and an address is derived from the caller, its salt and the whole
/// config except the owner.
contract BursarStepFactory {
    bytes32 public immutable erc721CodeHash;
    bytes32 public immutable erc1155CodeHash;

    event CollectionDeployed(
        address indexed collection, address indexed owner, address indexed deployer, TokenStandard standard, bytes32 salt
    );

    error WrongCode(bytes32 hash);
    error NoImplementation(TokenStandard standard);

    constructor(bytes32 erc721CodeHash_, bytes32 erc1155CodeHash_) {
        erc721CodeHash = erc721CodeHash_;
        erc1155CodeHash = erc1155CodeHash_;
    }

    /// @notice Creates an implementation, by whoever calls first; changes nothing if it exists.
    function createImplementation(TokenStandard standard, bytes calldata code) external {
        if (keccak256(code) != _codeHash(standard)) revert WrongCode(keccak256(code));
        if (implementation(standard).code.length == 0) Create2.deploy(0, 0, code);
    }

    function implementation(TokenStandard standard) public view returns (address) {
        return Create2.computeAddress(0, _codeHash(standard));
    }

    /// @notice Reverts when the caller deployed the same collection before.
    function deploy(TokenStandard standard, bytes32 salt, CollectionConfig calldata config)
        external
        returns (address collection)
    {
        address target = implementation(standard);
        if (target.code.length == 0) revert NoImplementation(standard);
        collection = Clones.cloneDeterministicWithImmutableArgs(
            target, CollectionArgs.pack(config), _callerSalt(msg.sender, salt)
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
            implementation(standard), CollectionArgs.pack(config), _callerSalt(deployer, salt)
        );
    }

    function _codeHash(TokenStandard standard) private view returns (bytes32) {
        return standard == TokenStandard.ERC721 ? erc721CodeHash : erc1155CodeHash;
    }

    function _callerSalt(address deployer, bytes32 salt) private pure returns (bytes32) {
        return keccak256(abi.encode(deployer, salt));
    }
}
