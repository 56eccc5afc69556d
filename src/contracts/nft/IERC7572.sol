// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Metadata of a whole contract: https://eips.ethereum.org/EIPS/eip-7572
interface IERC7572 {
    event ContractURIUpdated();

    function contractURI() external view returns (string memory);
}
