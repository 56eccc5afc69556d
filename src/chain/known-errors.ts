/**
 * The custom errors that are always decoded when a contract reverts: those of ERC-6093, and of each compiled contract of
 * Bursar, whichever capability deploys it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { Interface, type JsonFragment } from 'ethers/abi'

const ARTEFACTS = new URL('../contracts/artifacts/', import.meta.url)
/** Contracts of the demo are not ours to explain. */
const OURS = /^Bursar.+\.json$/

const ERC6093 = new Interface([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InvalidSender(address sender)',
  'error ERC20InvalidReceiver(address receiver)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidApprover(address approver)',
  'error ERC20InvalidSpender(address spender)',
  'error ERC721InvalidOwner(address owner)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
  'error ERC721InvalidSender(address sender)',
  'error ERC721InvalidReceiver(address receiver)',
  'error ERC721InsufficientApproval(address operator, uint256 tokenId)',
  'error ERC721InvalidApprover(address approver)',
  'error ERC721InvalidOperator(address operator)',
  'error ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId)',
  'error ERC1155InvalidSender(address sender)',
  'error ERC1155InvalidReceiver(address receiver)',
  'error ERC1155MissingApprovalForAll(address operator, address owner)',
  'error ERC1155InvalidApprover(address approver)',
  'error ERC1155InvalidOperator(address operator)',
  'error ERC1155InvalidArrayLength(uint256 idsLength, uint256 valuesLength)',
])

/** The first ABI that knows a selector decodes it. Each includes Solidity's two built-in errors. */
export const KNOWN_ERRORS: readonly Interface[] = [ERC6093, new Interface(ownErrors())]

function ownErrors(): readonly JsonFragment[] {
  const files = readdirSync(ARTEFACTS).filter((file) => OURS.test(file))
  return files.flatMap((file) => {
    const { abi } = JSON.parse(readFileSync(new URL(file, ARTEFACTS), 'utf8')) as {
      readonly abi: readonly JsonFragment[]
    }
    return abi.filter(({ type }) => type === 'error')
  })
}
