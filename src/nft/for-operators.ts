/** What `stuck` finds of NFTs: metadata that is not on the IPFS node. */
import type { Row } from '../event-log/table-rows.ts'
import { step } from '../operator/finding.ts'
import type { FindingNeeds, FindingSource, ToldFacts } from '../operator/for-operators.ts'
import { count } from '../operator/words.ts'

export const findings: readonly FindingSource[] = [
  { place: 105, read: async (needs) => metadataFacts(await readUnpinned(needs)) },
]

type Unpinned = { readonly count: number; readonly cid: string }

/** @param unpinned `null` when everything is pinned, or no IPFS node is configured */
export function metadataFacts(unpinned: Unpinned | null): ToldFacts {
  return { judge: () => (unpinned === null ? [] : [notOnIpfs(unpinned)]) }
}

function notOnIpfs({ count: pieces, cid }: Unpinned): ReturnType<ToldFacts['judge']>[number] {
  return {
    kind: 'metadata_unpinned',
    subject: 'IPFS',
    problem: `${count(pieces, 'piece')} of metadata not on IPFS, for example ${cid}.`,
    forMs: null,
    next: [
      step('Check that the Kubo node of IPFS_API_URL answers.', 'curl -s -X POST $IPFS_API_URL/api/v0/id'),
      step(
        'Read the log of the dispatcher: it pins the metadata and retries automatically.',
        'docker compose logs --since 10m dispatcher',
      ),
    ],
  }
}

/** Content whose pin failed and was postponed (due in the future), and content that nobody has tried for a while. */
async function readUnpinned({ pool, config, before }: FindingNeeds): Promise<Unpinned | null> {
  if (config.ipfs === null) return null
  const { rows } = await pool.query<{ count: string; cid: Row<'nft_pins'>['cid'] | null }>(
    'SELECT count(*) AS count, min(cid) AS cid FROM nft_pins WHERE pinned_at IS NULL AND (due_at < $1 OR due_at > clock_timestamp())',
    [before],
  )
  const [row] = rows
  return row === undefined || row.cid === null ? null : { count: Number(row.count), cid: row.cid }
}
