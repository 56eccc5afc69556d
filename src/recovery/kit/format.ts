/**
 * The format of a recovery kit: `kit.json`, which is public, and age files, each with the secrets of one holder.
 * Versions and names never change: a kit may be read years later, by a later version of Bursar or manually.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { ENVIRONMENTS, NETWORKS } from '../../core/networks.ts'

export const MANIFEST_FILE = 'kit.json'
export const HD_PART = 'hd'

const Text = Type.String()
const Hex = Type.String({ pattern: '^([0-9a-f]{2})+$' })
const Base64 = Type.String({ pattern: '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' })
const Count = Type.Integer({ minimum: 0 })
const Index = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })
/** A part's name is also its file name: it must not lead out of the directory. */
const PartName = Type.String({ pattern: '^(hd|party-[1-9][0-9]{0,2})$' })
const oneOf = <const Words extends readonly string[]>(words: Words) =>
  Type.Union(words.map((word: Words[number]) => Type.Literal(word)))

const place = {
  wallet_id: Text,
  tenant: Text,
  address: Text,
  network: oneOf(NETWORKS),
  environment: oneOf(ENVIRONMENTS),
  chain_id: Count,
  label: Text,
  status: Text,
}
const HdWallet = Type.Object({ ...place, type: Type.Literal('hd'), derivation_path: Text, index: Index })
const MpcWallet = Type.Object({
  ...place,
  type: Type.Literal('mpc'),
  key_id: Text,
  threshold: Count,
  parties: Count,
  /** Of the shares in force when the entry was written; each refresh increments it. */
  epoch: Count,
})
const Wallet = Type.Union([HdWallet, MpcWallet])

const Part = Type.Object({
  name: PartName,
  file: Text,
  /** SHA-256 of the age file, hex. */
  sha256: Hex,
  /** The recipients that can open it. */
  recipients: Type.Array(Text),
  created_at: Text,
})

const Manifest = Type.Object({
  format: Type.Literal('bursar recovery kit'),
  version: Type.Literal(1),
  /** Parts name it too, under their seal. Kits of earlier versions have none. */
  kit_id: Type.Optional(Type.String({ pattern: '^[0-9a-f]{32}$' })),
  created_at: Text,
  parts: Type.Array(Part),
  wallets: Type.Array(Wallet),
  /** Over everything else, by whoever wrote it last. Kits of earlier versions have none. */
  signature: Type.Optional(
    Type.Object({
      key: Type.String({ pattern: '^[0-9a-f]{64}$' }),
      value: Type.String({ pattern: '^[0-9a-f]{128}$' }),
    }),
  ),
})

const HdSecrets = Type.Object({
  format: Type.Literal('bursar recovery part'),
  version: Type.Literal(1),
  part: Type.Literal(HD_PART),
  kit_id: Type.Optional(Text),
  created_at: Text,
  seeds: Type.Array(
    Type.Object({
      tenant: Text,
      /** BIP-39, English, no passphrase: any other wallet program accepts them. */
      words: Text,
      entropy: Hex,
      /** The wallet's index is appended to it. */
      account_path: Text,
    }),
  ),
})

const PartySecrets = Type.Object({
  format: Type.Literal('bursar recovery part'),
  version: Type.Literal(1),
  part: PartName,
  kit_id: Type.Optional(Text),
  created_at: Text,
  shares: Type.Array(Type.Object({ key_id: Text, epoch: Count, address: Text, share: Base64 })),
})

export type KitWallet = Static<typeof Wallet>
export type KitPart = Static<typeof Part>
export type Manifest = Static<typeof Manifest>
export type HdSecrets = Static<typeof HdSecrets>
export type PartySecrets = Static<typeof PartySecrets>

/** Whether a text is a valid part name. */
export function isPartName(text: string): boolean {
  return Value.Check(PartName, text)
}

/** The file name of a part. */
export function partFile(name: string): string {
  return `${name}.age`
}

/** The name of a party's part. */
export function partyPart(party: number): string {
  return `party-${party}`
}

/** The bytes of a kit's JSON: indented, since people read it too. */
export function kitJson(value: Manifest | HdSecrets | PartySecrets): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
}

/** Each returns `undefined` for anything but its type in a known version. */
export const parseManifest = reader<Manifest>(Manifest)
export const parseHdSecrets = reader<HdSecrets>(HdSecrets)
export const parsePartySecrets = reader<PartySecrets>(PartySecrets)

function reader<Read>(schema: TSchema): (bytes: Uint8Array) => Read | undefined {
  return (bytes) => {
    const value = jsonOf(bytes)
    return Value.Check(schema, value) ? (value as Read) : undefined
  }
}

/** Never throws: a parser's error quotes its input, which may be a secret. */
function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
}
