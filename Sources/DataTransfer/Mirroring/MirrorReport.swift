internal import CloudKitClient
public import RecordStore
public import Records
internal import Synchronization

/// The result of a pull.
public struct PullReport: Sendable, Hashable {
    public var outcome = MirrorOutcome()
    /// The parts of the origin that could not be mirrored. The rest is in the mirror.
    public var problems: [MirrorProblem] = []

    public init() {}

    mutating func add(_ other: MirrorOutcome) {
        outcome.saved += other.saved
        outcome.deleted += other.deleted
        outcome.unchanged += other.unchanged
        outcome.sent += other.sent
        outcome.conflicts += other.conflicts
        outcome.encryptedInPublic += other.encryptedInPublic
    }
}

/// A part of the origin that the mirror lacks, with the remedy.
public enum MirrorProblem: Sendable, Hashable, CustomStringConvertible {
    /// A zone or database that failed. The next pull tries it again.
    case failed(DatabaseScope, ZoneID?, reason: String)
    /// A zone that was deleted in the origin, and is kept in the mirror because of unsent edits.
    case zoneGone(DatabaseScope, ZoneID, edits: Int)
    /// A record that could not be read.
    case record(RecordID, reason: String)
    /// A file that the origin does not deliver, or that is too large. Its record is stored without it.
    case file(Name, of: RecordID, reason: String)
    /// Fields whose values have an unknown type.
    case fields(Set<Name>, of: Name)
    /// A type of the public database that lacks indexes.
    case missingIndexes(type: Name, purpose: String, indexes: [String], reason: String)
    /// A type that the public database does not have.
    case unknownType(Name)

    public var description: String {
        switch self {
        case .failed(let scope, let zoneID, let reason):
            "\(zoneID.map { "The zone '\($0.zoneName)' of the" } ?? "The") \(scope.rawValue) database was not read to its end: \(reason). The next pull goes on"
        case .zoneGone(let scope, let zoneID, let edits):
            "The zone '\(zoneID.zoneName)' of the \(scope.rawValue) database was deleted in the origin, and has \(edits) unsent edit\(edits == 1 ? "" : "s") here. "
                + "Delete the zone here to give them up"
        case .record(let recordID, let reason):
            "The record '\(recordID.recordName)' in '\(recordID.zoneID.zoneName)' is missing: \(reason)"
        case .file(let field, let recordID, let reason):
            "The file in the field '\(field)' of the record '\(recordID.recordName)' is missing: \(reason)"
        case .fields(let names, let type):
            "The mirror lacks the field\(names.count == 1 ? "" : "s") \(names.sorted().map(\.string).joined(separator: ", ")) of records of type \(type): "
                + "the values are of a kind that Skylight does not know"
        case .missingIndexes(let type, let purpose, let indexes, let reason):
            "The type \(type) lacks indexes for \(purpose) (\(reason)). Add to its schema: \(indexes.joined(separator: ", "))"
        case .unknownType(let type): "The public database has no type \(type)"
        }
    }
}

/// The result of a push.
public struct PushReport: Sendable, Hashable {
    /// An edit to send.
    public struct Item: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable {
            case create
            case update
            case delete
        }

        public var scope: DatabaseScope
        public var recordID: RecordID
        public var kind: Kind
        /// The fields that are set or cleared.
        public var fields: Set<Name>
        /// The change tag of the version that was edited.
        public var base: String?
    }

    /// The edits that the origin now has or, in a dry run, would receive; in the order of sending.
    public var items: [Item] = []
    /// Edits that wait for the resolution of a conflict, from earlier pushes or this one.
    public var conflicts: [UnsentEdit] = []
    /// Edits that the origin refused, with the reasons. They stay unsent.
    public var refused: [RecordID: String] = [:]

    public init() {}
}

// MARK: - Progress

/// The progress of a pull or push. The total is unknown, because CloudKit does not count records.
public struct MirrorProgress: Sendable, Hashable {
    public enum Stage: Sendable, Hashable {
        case starting
        case listingZones(DatabaseScope)
        case zone(ZoneID, DatabaseScope)
        /// Records of a type in the public database are pulled.
        case type(Name)
        /// The record names of a type or zone are compared, to detect deletions.
        case comparingNames
        case sending
    }

    public var stage = Stage.starting
    /// The number of received versions, including deletions.
    public var records = 0
    public var files = 0
    public var fileBytes: Int64 = 0
    /// The number of sent requests, including repetitions.
    public var requests = 0
    /// The time that the origin took to answer.
    public var answering: Duration = .zero
    /// The time of the pauses that the origin requested or that failures required.
    public var pausing: Duration = .zero
    /// The end of the current pause; `nil` if there is none.
    public var pausedUntil: ContinuousClock.Instant?
    public var started: ContinuousClock.Instant

    /// The number of records per second since the start.
    public func rate(at now: ContinuousClock.Instant = .now) -> Double {
        let elapsed = (now - started) / .seconds(1)
        return elapsed > 0 ? Double(records) / elapsed : 0
    }
}

/// Counts the progress, and reports it to all listeners.
final class MirrorMeter: Sendable {
    private struct State {
        var progress = MirrorProgress(started: .now)
        var listeners: [Int: AsyncStream<MirrorProgress>.Continuation] = [:]
        var number = 0
    }

    private let state = Mutex(State())

    /// The progress from now on. A slow listener only gets the latest values.
    func listen() -> AsyncStream<MirrorProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: MirrorProgress.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.number += 1
            state.listeners[state.number] = continuation
            return state.number
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    var progress: MirrorProgress { state.withLock { $0.progress } }

    func begin() {
        change { $0 = MirrorProgress(started: .now) }
    }

    func change(_ body: (inout MirrorProgress) -> Void) {
        let (progress, listeners) = state.withLock { state in
            body(&state.progress)
            return (state.progress, Array(state.listeners.values))
        }
        for listener in listeners { listener.yield(progress) }
    }

    func note(_ event: RequestEvent) {
        change { progress in
            progress.pausedUntil = nil
            switch event {
            case .sending: progress.requests += 1
            case .answered(_, _, _, let duration, _): progress.answering += duration
            case .waiting(_, let pause, _):
                progress.pausing += pause.length
                progress.pausedUntil = .now + pause.length
            }
        }
    }
}

// MARK: - Past pulls

/// A pull that changed something or failed in part.
public struct PullHistoryEntry: Sendable, Hashable {
    public var started: Timestamp
    public var ended: Timestamp
    public var saved: Int
    public var deleted: Int
    public var conflicts: Int
    public var problems: Int
    public var requests: Int
}

/// The latest pulls, stored as a mark. An interrupted pull has no entry; the next pull counts its records as unchanged.
enum PullHistory {
    private static let limit = 100

    static func pulls(in mark: String?) -> [PullHistoryEntry] {
        guard let mark, case .array(let entries)? = try? JSONReader.value(of: mark) else { return [] }
        return entries.compactMap { entry in
            guard case .array(let values) = entry else { return nil }
            let numbers = values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
            guard numbers.count == 7 else { return nil }
            return PullHistoryEntry(
                started: Timestamp(milliseconds: numbers[0]), ended: Timestamp(milliseconds: numbers[1]),
                saved: Int(numbers[2]), deleted: Int(numbers[3]),
                conflicts: Int(numbers[4]), problems: Int(numbers[5]), requests: Int(numbers[6]))
        }
    }

    /// - Returns: the mark with one more pull, the latest first.
    static func adding(_ pull: PullHistoryEntry, to mark: String?) -> String {
        var writer = JSONWriter()
        writer.array { writer in
            for pull in ([pull] + pulls(in: mark)).prefix(limit) {
                let counts = [pull.saved, pull.deleted, pull.conflicts, pull.problems, pull.requests].map { Int64($0) }
                writer.array { writer in
                    for number in [pull.started.milliseconds, pull.ended.milliseconds] + counts { writer.value(number) }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
