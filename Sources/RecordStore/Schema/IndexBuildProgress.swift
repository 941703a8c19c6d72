public import JSON
public import Records

/// The progress of background work on an index.
public struct IndexBuildProgress: Sendable, Hashable {
    public enum Work: String, Sendable, Hashable {
        /// Existing records are being added. Saves update the index already, but queries don't use it yet.
        case building = "BUILDING"
        /// The index was dropped and its entries are being removed.
        case dropping = "DROPPING"
    }

    public enum Subject: Sendable, Hashable {
        /// One or several indexes of a field.
        case field(FieldKey, Indexes)
        case composite(CompositeIndex)
    }

    public var work: Work
    public var recordType: Name
    public var subject: Subject
    /// Number of records or entries done.
    public var done: Int
    /// Total number of records or entries, counted at the start. Saves may make `done` exceed it slightly.
    public var total: Int

    public init(_ work: Work, of subject: Subject, in recordType: Name, done: Int, total: Int) {
        self.work = work
        self.subject = subject
        self.recordType = recordType
        self.done = done
        self.total = total
    }

    /// From 0 to 99; 100 is never reached while work is left.
    public var percent: Int { total <= 0 ? 0 : min(99, max(0, done.multipliedSaturated(by: 100) / total)) }
}
