public import JSON
public import Records

/// A share that has not ended, as the owner of its zone or one of its guests sees it.
public struct ZoneShare: Sendable, Hashable {
    /// The record that holds the share. Its zone is the one that is shared, or that has the shared records.
    public var record: StoredRecord
    public var share: Share
    /// The number that the records carry which guests see through this share (``Records/RecordSharing/hierarchy``), in a zone that is shared as a
    /// whole only the share itself. Later shares have higher numbers.
    public var hierarchy: Int64

    public var zoneID: ZoneID { record.recordID.zoneID }
    /// Name of the record at the top; `nil` if the whole zone is shared.
    public var rootName: Name? { share.rootName }
    /// The title that the share was given; `nil` if it has none.
    public var givenTitle: String? { text(of: Share.titleField) }
    /// The title; without one, the name of the root or of the zone.
    public var title: String { givenTitle ?? (rootName ?? zoneID.zoneName).string }
    /// The uniform type identifier of what is shared, as the app told it; `nil` if it did not.
    public var givenType: String? { text(of: Share.typeField) }

    private func text(of field: Name) -> String? {
        guard case .string(let text)? = (try? record.fields.values(of: [field]))?[field], !text.isEmpty else { return nil }
        return text
    }

    /// - Returns: `nil` for a record that holds no share.
    public init?(_ record: StoredRecord) {
        guard let share = record.sharing?.share, let hierarchy = record.sharing?.hierarchy else { return nil }
        (self.record, self.share, self.hierarchy) = (record, share, hierarchy)
    }
}

/// All records of a zone with their parents and hierarchies, without their fields.
public struct ZoneTree: Sendable, Hashable {
    /// A record in the tree.
    public struct Node: Sendable, Hashable {
        public var recordName: Name
        public var recordType: Name
        public var parent: Name?
        /// Number of the hierarchy through which guests see the record. It may be that of a share that has ended.
        public var hierarchy: Int64?

        public init(recordName: Name, recordType: Name, parent: Name?, hierarchy: Int64?) {
            self.recordName = recordName
            self.recordType = recordType
            self.parent = parent
            self.hierarchy = hierarchy
        }
    }

    /// In the order of their latest changes.
    public var nodes: [Node]
    /// False if the zone has more records.
    public var isComplete: Bool

    public init(nodes: [Node], isComplete: Bool) {
        self.nodes = nodes
        self.isComplete = isComplete
    }
}

extension RecordDatabase {
    /// The share through which guests see a record; `nil` for none. A share of the whole zone counts for all its records.
    public func share(showing record: StoredRecord) async throws -> ZoneShare? {
        let zoneID = record.recordID.zoneID
        if let number = record.sharing?.hierarchy, let share = try await shares(in: zoneID, after: number - 1, limit: 1).first, share.hierarchy == number {
            return share
        }
        return try await shares(in: zoneID, after: nil, limit: 1).first { $0.rootName == nil }
    }
}
