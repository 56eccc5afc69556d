/** Findings: what is stuck and what to do about it. */
import type { FindingKind } from '../core/registry.ts'

/** A suggested action, best first. `run` can be pasted into a shell. */
export type NextStep = { readonly say: string; readonly run: string | null }

export type Finding = {
  readonly kind: FindingKind
  /** The subject: `ethereum 0x…`, `queue lane`, `signer`. */
  readonly subject: string
  /** A full sentence with figures. */
  readonly problem: string
  /** How long the problem has existed, if known. */
  readonly forMs: number | null
  /** At least one. */
  readonly next: readonly NextStep[]
}

export function step(say: string, run: string | null = null): NextStep {
  return { say, run }
}

/** The JSON form of a finding. */
export function findingJson({ kind, subject, problem, forMs, next }: Finding) {
  return { kind, subject, problem, for_ms: forMs === null ? null : Math.round(forMs), next }
}
