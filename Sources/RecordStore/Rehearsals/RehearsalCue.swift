internal import Records

/// What to rehearse, and how often: `pages-of-one`, `throttled=3`.
public struct RehearsalCue: Sendable, Hashable, CustomStringConvertible {
    /// Requests that one rehearsal may fail.
    public static let countLimit = 1_000_000

    public let rehearsal: Rehearsal
    /// How many requests fail; `nil` where failing is not what is rehearsed.
    public let count: Int?

    /// - Parameter count: `nil` for one request, where requests fail.
    /// - Throws: `RecordError` BAD_REQUEST when the count is out of range, or there is nothing to count.
    public init(_ rehearsal: Rehearsal, count: Int? = nil) throws {
        guard rehearsal.kind == .failure else {
            if count != nil {
                throw RecordError(.badRequest, "'\(rehearsal.rawValue)' takes no count: only rehearsals that fail requests do, such as throttled=3")
            }
            self.init(of: rehearsal, times: nil)
            return
        }
        guard (1...Self.countLimit).contains(count ?? 1) else {
            throw RecordError(.badRequest, "The count of '\(rehearsal.rawValue)' is a whole number from 1 to \(Self.countLimit)")
        }
        self.init(of: rehearsal, times: count ?? 1)
    }

    /// Reads `pages-of-one` or `throttled=3`.
    /// - Throws: `RecordError` BAD_REQUEST for a name that is none, and for a count that can't be.
    public init(_ text: some StringProtocol) throws {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map { String($0) } ?? ""
        guard let rehearsal = Rehearsal(rawValue: name) else {
            let known = Rehearsal.allCases.map(\.rawValue).joined(separator: ", ")
            throw RecordError(.badRequest, "There is no rehearsal '\(name)'; there are \(known)")
        }
        guard parts.count == 2 else {
            try self.init(rehearsal)
            return
        }
        guard let count = Int(parts[1]) else {
            throw RecordError(.badRequest, "The count of '\(name)' is a whole number, as in throttled=3, and '\(parts[1])' is none")
        }
        try self.init(rehearsal, count: count)
    }

    private init(of rehearsal: Rehearsal, times: Int?) {
        self.rehearsal = rehearsal
        count = times
    }

    public var description: String { count.map { "\(rehearsal.rawValue)=\($0)" } ?? rehearsal.rawValue }
}
