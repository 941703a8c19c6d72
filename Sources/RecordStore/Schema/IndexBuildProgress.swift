public import JSON
public import Records

/// How far the background work on an index is.
public struct IndexBuildProgress: Sendable, Hashable {
    public enum Work: String, Sendable, Hashable {
        /// Existing records are entered. Saves keep their own entries up; queries don't use the index yet.
        case building = "BUILDING"
        /// The index was dropped, and its entries are being removed.
        case dropping = "DROPPING"
    }

    public enum Subject: Sendable, Hashable {
        /// Of a field: one or several of its indexes.
        case field(FieldKey, Indexes)
        case composite(CompositeIndex)
    }

    public var work: Work
    public var recordType: Name
    public var subject: Subject
    /// Records, or entries, that are done.
    public var done: Int
    /// Records, or entries, in all, as counted at the beginning. May be passed a little while saves go on.
    public var total: Int

    public init(_ work: Work, of subject: Subject, in recordType: Name, done: Int, total: Int) {
        self.work = work
        self.subject = subject
        self.recordType = recordType
        self.done = done
        self.total = total
    }

    /// 0 to 100; 100 only when nothing is left.
    public var percent: Int { total <= 0 ? 0 : min(99, done * 100 / total) }
}
