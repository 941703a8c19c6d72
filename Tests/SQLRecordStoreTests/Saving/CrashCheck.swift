import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport

@testable import SQLRecordStore

/// Checks a store after a crash or after failed disk calls.
struct CrashCheck {
    let workload: CrashWorkload
    /// The number of disk calls before the crash.
    let events: Int

    /// Opens the store again and checks it. Empty if there are no problems.
    func problems(in folder: URL) async -> [String] {
        do {
            let engine = try SQLRecordEngine(folder: folder)
            do {
                let problems = try await problems(of: engine)
                await engine.close()
                return problems
            } catch {
                await engine.close()
                throw error
            }
        } catch {
            return ["the store can't be used: \(error)"]
        }
    }

    private func problems(of engine: SQLRecordEngine) async throws -> [String] {
        let database = try await engine.full(.private)
        guard let zone = try await database.fetchZones([crashZone]).first, (try? zone.get()) != nil else {
            let isLost = workload.zoneMadeAt.map { $0 <= events } ?? false
            return isLost ? ["the zone is lost"] : []
        }
        let found = try await CrashWorkload.pull(
            database, after: CrashWorkload.Pull(at: 0, token: ChangeToken(bytes: []), records: [:]))
        var problems: [String] = []
        for (prefix, requests) in workload.savers { problems += self.problems(of: requests, by: prefix, found.records) }
        problems += try await problemsOfTokens(database, found)
        problems += try await StoreRecount.problems(of: database)
        // Once as found, possibly in the middle of a build, and again after all pending work.
        problems += try await IndexRecount.problems(of: database)
        do {
            try await eventually { try await database.require(.showSchema).indexBuilds().isEmpty }
        } catch is NeverHappened {
            problems.append("work on indexes does not come to its end")
        }
        problems += try await IndexRecount.problems(of: database)
        problems += try await problemsOfNewSaves(database, found)
        return problems
    }

    /// Acknowledged requests exist. The request in progress exists completely or not at all.
    private func problems(of requests: [CrashWorkload.Request], by prefix: String, _ found: CrashWorkload.Records)
        -> [String]
    {
        let found = found.filter { $0.key.string.hasPrefix(prefix) }
        let last = requests.lastIndex { $0.acknowledgedAt.map { $0 <= events } ?? false }
        let acknowledged = last.map { requests[$0].after } ?? [:]
        if found == acknowledged { return [] }
        let numbers = found.mapValues(\.number)
        let open = requests[(last.map { $0 + 1 } ?? 0)...]
        // A request without an acknowledgement, or with an error that leaves its fate open, may exist completely.
        let possible = open.first { $0.refusal == nil || $0.refusal?.leavesOpen == true }
        if let possible, possible.after.mapValues(\.number) == numbers { return [] }
        return [
            "saver \(prefix): lost or half there; acknowledged \(Self.text(acknowledged)), found \(Self.text(found))"
        ]
    }

    private static func text(_ records: CrashWorkload.Records) -> String {
        "["
            + records.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.number) \($0.value.tag ?? "-")" }.joined(
                separator: ", ") + "]"
    }

    /// Earlier tokens still return the changes since then.
    private func problemsOfTokens(_ database: any RecordDatabase, _ found: CrashWorkload.Pull) async throws -> [String]
    {
        var problems: [String] = []
        let known = workload.pulls.filter { $0.at <= events }
        for pull in Set([0, known.count / 2, known.count - 1]).filter(known.indices.contains).map({ known[$0] }) {
            do {
                let now = try await CrashWorkload.pull(database, after: pull)
                if now.records != found.records { problems.append("a pull since an earlier token misses something") }
                if now.token != found.token { problems.append("two pulls end at different tokens") }
            } catch {
                problems.append("an earlier token is refused: \(error)")
            }
        }
        return problems
    }

    /// New saves work, and reuse no known tag or token.
    private func problemsOfNewSaves(_ database: any RecordDatabase, _ found: CrashWorkload.Pull) async throws
        -> [String]
    {
        let known = workload.pulls.filter { $0.at <= events }
        var tags = Set(known.flatMap { $0.records.values.compactMap(\.tag) }).union(
            found.records.values.compactMap(\.tag))
        for request in workload.savers.values.joined() where request.acknowledgedAt.map({ $0 <= events }) ?? false {
            tags.formUnion(request.after.values.compactMap(\.tag))
        }
        let tokens = Set(known.map(\.token) + [found.token])
        var problems: [String] = []
        for number in 0..<2 {
            let saved = try await database.save("new", in: crashZone, ["number": .int64(Int64(number))])
            if !tags.insert(saved.recordChangeTag).inserted {
                problems.append("the change tag \(saved.recordChangeTag) is used twice")
            }
            let token = try await database.pull(crashZone, since: found.token).token
            if tokens.contains(token) { problems.append("a token is used twice") }
        }
        return problems
    }
}

extension RecordError {
    /// True if the refused request may still appear after the store is opened again.
    var leavesOpen: Bool { code == .internalError && reason.contains("read-only until it is opened again") }
}
