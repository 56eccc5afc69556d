/** Contracts for tests of chain reads, compiled on demand: good, failing and excessive ones. */
import { Interface } from 'ethers/abi'
import solc from 'solc'

const SOURCE = `
// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

contract Aggregator {
  struct Call { address target; bool allowFailure; bytes callData; }
  struct Result { bool success; bytes returnData; }
  function aggregate3(Call[] calldata calls) external payable returns (Result[] memory results) {
    results = new Result[](calls.length);
    for (uint256 i = 0; i < calls.length; i++) {
      (results[i].success, results[i].returnData) = calls[i].target.call(calls[i].callData);
      require(results[i].success || calls[i].allowFailure);
    }
  }
  function getEthBalance(address account) external view returns (uint256) { return account.balance; }
}

contract Token {
  string public symbol = "PRB";
  string public name = "Probe";
  uint8 public decimals = 6;
  mapping(address => uint256) public balanceOf;
  error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
  error Frozen(uint64 until);
  constructor() { balanceOf[msg.sender] = 1_000_000; }
  function transfer(address to, uint256 amount) external returns (bool) {
    if (amount == 666) revert Frozen(9);
    require(to != address(this), "not to the token itself");
    uint256 balance = balanceOf[msg.sender];
    if (balance < amount) revert ERC20InsufficientBalance(msg.sender, balance, amount);
    unchecked { balanceOf[msg.sender] = balance - amount; balanceOf[to] += amount; }
    return true;
  }
  function divide(uint256 by) external pure returns (uint256) { return 1 / by; }
}

contract Greedy {
  uint256 public sink;
  function balanceOf(address) external view returns (uint256) { while (true) { if (sink == 1) return 1; } return 0; }
}

contract Register {
  uint256[] public entries;
  mapping(uint256 => bool) public has;
  bool public closed;
  error ERC721NonexistentToken(uint256 tokenId);
  // As a collection's: signers let a mint call nothing else.
  function mint(address, uint256 id, bytes32 afterEntry) external payable {
    uint256 afterId = uint256(afterEntry);
    require(!closed, "closed");
    require(!has[id], "entered before");
    if (afterId != 0 && !has[afterId]) revert ERC721NonexistentToken(afterId);
    has[id] = true;
    entries.push(id);
  }
  function close() external { closed = true; }
  function all() external view returns (uint256[] memory) { return entries; }
}

contract Feed {
  int256 public answer;
  uint256 public updatedAt;
  uint8 public constant decimals = 8;
  constructor(int256 answer_, uint256 updatedAt_) { answer = answer_; updatedAt = updatedAt_; }
  function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
    return (3, answer, updatedAt, updatedAt, 3);
  }
}
`

export type ProbeName = 'Aggregator' | 'Token' | 'Greedy' | 'Register' | 'Feed'
export type ProbeContract = { readonly abi: Interface; readonly bytecode: string }

type Output = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<string, Record<ProbeName, { abi: string[]; evm: { bytecode: { object: string } } }>>
}

export function compileProbes(): Record<ProbeName, ProbeContract> {
  const input = {
    language: 'Solidity',
    sources: { 'probe.sol': { content: SOURCE } },
    settings: { outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Output
  const failure = output.errors?.find(({ severity }) => severity === 'error')
  const compiled = output.contracts['probe.sol']
  if (failure || compiled === undefined) throw new Error(failure?.formattedMessage ?? 'solc compiled nothing')
  const probe = ({ abi, evm }: { abi: string[]; evm: { bytecode: { object: string } } }): ProbeContract => ({
    abi: new Interface(abi),
    bytecode: `0x${evm.bytecode.object}`,
  })
  const { Aggregator, Token, Greedy, Register, Feed } = compiled
  return {
    Aggregator: probe(Aggregator),
    Token: probe(Token),
    Greedy: probe(Greedy),
    Register: probe(Register),
    Feed: probe(Feed),
  }
}
