public import JSON
public import Records

/// The records that one share shares.
public struct Hierarchy: Sendable, Hashable {
    /// Never used again for another share.
    public let number: Int64
    /// The engine's key of the owner's zone.
    public let zone: Int64
    /// The record at the top; `nil` if the whole zone is shared.
    public let rootName: Name?
    public let shareName: Name

    /// The error for a share in a zone that mirrors one of another container, which has the shares.
    public static let inMirror = RecordError(.badRequest, "Records of a mirror are shared in the container that it mirrors")

    public init(number: Int64, zone: Int64, rootName: Name?, shareName: Name) {
        self.number = number
        self.zone = zone
        self.rootName = rootName
        self.shareName = shareName
    }
}

/// The operations of an engine's open transaction that sharing needs.
///
/// A guest sees a zone of the guest's own, the *view*: a copy of the records of all hierarchies that one owner's zone shares with the guest.
/// So a guest's feed, queries and tokens are those of a zone, and cost what the guest sees. Each record of a hierarchy
/// carries the hierarchy's number (``Records/RecordSharing/hierarchy``), so nobody walks up to its root.
public protocol HierarchyTransaction: AnyObject {
    /// The record with the name; `nil` if it does not exist.
    func record(named name: Name, in zone: Int64) throws -> StoredRecord?

    /// A hierarchy whose share has not ended.
    func hierarchy(_ number: Int64) throws -> Hierarchy?

    /// Views of the guests of a hierarchy.
    func views(of hierarchy: Int64) throws -> Set<Int64>

    /// Views of all guests of a zone.
    func views(ofZone zone: Int64) throws -> Set<Int64>

    /// Names of the records with a parent, in order.
    /// - Parameter after: the last name of the previous page.
    func children(of parent: Name, in zone: Int64, after: Name?, limit: Int) throws -> [Name]

    /// Notes the hierarchy of a record, which is no change of the record.
    func place(_ record: StoredRecord, in zone: Int64, under hierarchy: Int64?) throws

    /// Makes the copy of a record in a view what the record is.
    /// - Returns: `true` if there was none.
    @discardableResult
    func show(_ record: StoredRecord, in view: Int64) throws -> Bool

    /// Turns the copy of a record in a view into a deletion.
    /// - Returns: `false` if there was none.
    @discardableResult
    func hide(_ name: Name, in view: Int64, by signature: Signature) throws -> Bool

    /// Ends a hierarchy, and the views of guests without any other hierarchy of the zone.
    /// - Returns: the views that go on.
    func end(_ hierarchy: Hierarchy) throws -> [Int64]

    /// The views of a zone that a walk left for later brings up to date.
    func unfinishedViews(ofZone zone: Int64) throws -> Set<Int64>

    /// Leaves a walk to be finished after the commit. Until a walk that hides records is finished, guests of the zone can't read.
    func leave(_ walks: [HierarchyWalk.Item]) throws
}

/// The part of ``HierarchyTransaction`` that requests need, beyond what follows a deletion.
public protocol SharingTransaction: HierarchyTransaction {
    /// A hierarchy whose share has not ended, by the identifier in its link.
    func hierarchy(shortGUID: String) throws -> Hierarchy?

    /// The hierarchies of a zone whose shares have not ended.
    func hierarchies(in zone: Int64) throws -> [Hierarchy]

    /// Begins a hierarchy and returns its number.
    /// - Parameter rootName: `nil` for the whole zone.
    func makeHierarchy(in zone: Int64, rootName: Name?, shareName: Name, shortGUID: String) throws -> Int64

    /// Admits a user to a hierarchy, or changes the user's permission.
    /// - Returns: the user's view; the zone itself if all of it is shared.
    func admit(_ user: Name, to hierarchy: Hierarchy, _ permission: SharePermission) throws -> Int64

    /// Removes a user from a hierarchy. The view of a user without any other hierarchy of the zone ends. Does nothing if the user is no guest.
    /// - Returns: the view if it goes on.
    func dismiss(_ user: Name, from hierarchy: Hierarchy) throws -> Int64?
}

/// The rights of a guest in another user's zone that shares hierarchies.
public struct GuestReach: Sendable, Hashable {
    /// By the number of the hierarchy.
    public let permissions: [Int64: SharePermission]

    public init(_ permissions: [Int64: SharePermission]) {
        self.permissions = permissions
    }

    public var canWrite: Bool { permissions.values.contains(.readWrite) }

    /// `nil` for a record that the guest does not see.
    public func permission(for record: StoredRecord) -> SharePermission? {
        record.sharing?.hierarchy.flatMap { permissions[$0] }
    }

    func canWrite(_ record: StoredRecord) -> Bool { permission(for: record) == .readWrite }
}
