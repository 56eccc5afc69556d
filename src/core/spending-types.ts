/**
 * Finds types of typed data that let somebody else move what the wallet holds: permits, orders, signed transfers, and
 * calls that another contract makes for the signer. Reads names and fields alone: a contract can hide such a right in a
 * type that looks like none, so this is a filter for known forms, and not a proof.
 */

/** A field of a struct, as its type declares it. */
type TypedField = { readonly name: string; readonly type: string }

export type SpendingType = {
  readonly struct: string
  /** A phrase after the name of the struct. */
  readonly reason: string
}

/** Words of names such as `PermitBatchTransferFrom`, `OrderComponents`, `ForwardRequest` and `SafeTx`. */
const WORDS =
  /^(permit|order|allowance|approval|approve|transfer|withdrawal|withdraw|swap|trade|bid|ask|offer|listing|send|spend|payment|authorization|delegation|forward|transaction|tx|op|operation|execute|execution|call|intent)s?$/
/** Who may spend. */
const SPENDERS = /^(spender|operator|allowed|approved|delegate|taker)$/i
/** How much, or which token. */
const AMOUNTS = /(amount|value|price|quantity|wad|tokenid|identifier)$/i
const INTEGER = /^u?int\d+(\[.*)?$/
const ADDRESS = /^address(\[.*)?$/
/** Call data that a contract runs for the signer, as in meta-transactions. */
const CALL_DATA = /^bytes(\[.*)?$/

/** @param types without the type of the domain @returns the first type that spends; `null` for none */
export function spendingTypeIn(types: Readonly<Record<string, readonly TypedField[]>>): SpendingType | null {
  const structs = Object.entries(types)
  const addressed = structs.some(([, fields]) => fields.some(({ type }) => ADDRESS.test(type)))
  for (const [struct, fields] of structs) {
    const reason = reasonOf(struct, fields, addressed)
    if (reason !== null) return { struct, reason }
  }
  return null
}

function reasonOf(struct: string, fields: readonly TypedField[], addressed: boolean): string | null {
  if (wordsOf(struct).some((word) => WORDS.test(word)))
    return 'is named like a permit, an order, a transfer or a call for the signer'
  for (const { name, type } of fields) {
    if (SPENDERS.test(name)) return `has the field ${name}, which names who may spend`
    if (addressed && INTEGER.test(type) && AMOUNTS.test(name)) return `has the field ${name}, which is an amount`
    if (addressed && CALL_DATA.test(type)) return `has the field ${name}, which can be call data`
  }
  return null
}

/** `ERC721Order` has the words erc721 and order. */
function wordsOf(name: string): readonly string[] {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
  return spaced.toLowerCase().split(/[^a-z0-9]+/)
}
