public import Records

/// The records that are shared by one share.
public struct Hierarchy: Sendable, Hashable {
    /// The number of the hierarchy. It is never used again for another share.
    public let number: Int64
    /// The engine's key of the owner's zone.
    public let zone: Int64
    /// The record at the top; `nil` if the whole zone is shared.
    public let rootName: Name?
    public let shareName: Name

    /// The error for creating a share in a mirror. Shares must be created in its origin.
    public static let inMirror = RecordError(
        .badRequest, "Records of a mirror are shared in the container that it mirrors")

    public init(number: Int64, zone: Int64, rootName: Name?, shareName: Name) {
        self.number = number
        self.zone = zone
        self.rootName = rootName
        self.shareName = shareName
    }
}

/// The operations of an engine's open transaction that sharing needs.
///
/// Each guest of a zone has a zone called the *view*: a copy of the records of all hierarchies that one owner's zone
/// shares with the guest. So a guest's feed, queries and tokens are those of a zone, and their cost depends on what
/// the guest sees. Each record of a hierarchy contains the hierarchy's number (``Records/RecordSharing/hierarchy``),
/// so the path to its root need not be followed.
public protocol HierarchyTransaction: AnyObject {
    /// The record with the name; `nil` if it does not exist.
    func record(named name: Name, in zone: Int64) throws -> StoredRecord?

    /// A hierarchy whose share has not ended.
    func hierarchy(_ number: Int64) throws -> Hierarchy?

    /// Views of the guests of a hierarchy.
    func views(of hierarchy: Int64) throws -> Set<Int64>

    /// Views of all guests of a zone.
    func views(ofZone zone: Int64) throws -> Set<Int64>

    /// Names of the records with this parent, in order.
    /// - Parameter after: the last name of the previous page; `nil` for the first page.
    func children(of parent: Name, in zone: Int64, after: Name?, limit: Int) throws -> [Name]

    /// Stores the hierarchy to which a record belongs. This does not count as a change of the record.
    func place(_ record: StoredRecord, in zone: Int64, under hierarchy: Int64?) throws

    /// Updates the copy of a record in a view, or creates it.
    /// - Returns: `true` if there was none.
    @discardableResult
    func show(_ record: StoredRecord, in view: Int64) throws -> Bool

    /// Turns the copy of a record in a view into a deletion.
    /// - Returns: `false` if there was no copy.
    @discardableResult
    func hide(_ name: Name, in view: Int64, by signature: Signature) throws -> Bool

    /// Ends a hierarchy. Also ends the views of guests to whom no other hierarchy of the zone is shared.
    /// - Returns: the remaining views of its guests.
    func end(_ hierarchy: Hierarchy) throws -> [Int64]

    /// The views of a zone that are being updated by a postponed walk.
    func unfinishedViews(ofZone zone: Int64) throws -> Set<Int64>

    /// Stores walks to be finished after the commit. Until a walk that hides records is finished, guests of the zone
    /// can't read.
    func enqueue(_ walks: [HierarchyWalk.Item]) throws
}

/// The further operations that requests need for sharing. The deletion of a record needs only
/// ``HierarchyTransaction``.
public protocol SharingTransaction: HierarchyTransaction {
    /// The hierarchy whose link contains the short GUID, if its share has not ended.
    func hierarchy(shortGUID: String) throws -> Hierarchy?

    /// The hierarchies of a zone whose shares have not ended.
    func hierarchies(in zone: Int64) throws -> [Hierarchy]

    /// Creates a hierarchy and returns its number.
    /// - Parameter rootName: `nil` for the whole zone.
    func makeHierarchy(in zone: Int64, rootName: Name?, shareName: Name, shortGUID: String) throws -> Int64

    /// Admits a user to a hierarchy, or changes the user's permission.
    /// - Returns: the user's view; the zone itself if the whole zone is shared.
    func admit(_ user: Name, to hierarchy: Hierarchy, _ permission: SharePermission) throws -> Int64

    /// Removes a user from a hierarchy. If no other hierarchy of the zone is shared with the user, the user's view
    /// ends. Does nothing if the user is not a guest.
    /// - Returns: the view, if it remains.
    func dismiss(_ user: Name, from hierarchy: Hierarchy) throws -> Int64?
}

/// The rights of a guest in a zone of another user who shares hierarchies of it.
public struct GuestRights: Sendable, Hashable {
    /// The permissions by the number of the hierarchy.
    public let permissions: [Int64: SharePermission]

    public init(_ permissions: [Int64: SharePermission]) {
        self.permissions = permissions
    }

    public var canWrite: Bool { permissions.values.contains(.readWrite) }

    /// The permission for a record; `nil` if the guest does not see the record.
    public func permission(for record: StoredRecord) -> SharePermission? {
        record.sharing?.hierarchy.flatMap { permissions[$0] }
    }

    func canWrite(_ record: StoredRecord) -> Bool { permission(for: record) == .readWrite }
}

// MARK: - Walks

/// Walks down trees of child records after a change at their top, so that each record belongs to the hierarchy of its
/// parent, and each view shows what its guest may see. It works in steps: the rest of a long walk is done after the
/// commit.
public struct HierarchyWalk: Sendable {
    /// A record whose children are still to be examined.
    public struct Item: Sendable, Hashable {
        public let zone: Int64
        public let name: Name
        /// The record at which the walk began. It may be below itself, because the parent of a root is ignored.
        public let top: Name
        /// The view to update; `nil` if the hierarchy of the record has changed.
        public let view: Int64?
        /// True if views may show records that they must not show.
        public let hides: Bool
        /// The last child examined.
        public let after: Name?
        /// User and time of the change.
        public let signature: Signature

        public init(
            zone: Int64, name: Name, top: Name? = nil, view: Int64?, hides: Bool, after: Name? = nil,
            signature: Signature
        ) {
            self.zone = zone
            self.name = name
            self.top = top ?? name
            self.view = view
            self.hides = hides
            self.after = after
            self.signature = signature
        }

        fileprivate func below(_ child: Name, hides: Bool) -> Item {
            Item(zone: zone, name: child, top: top, view: view, hides: hides, signature: signature)
        }

        fileprivate func going(on last: Name) -> Item {
            Item(zone: zone, name: name, top: top, view: view, hides: hides, after: last, signature: signature)
        }
    }

    /// Number of children read at once.
    private static let pageSize = 100

    /// The remaining work. The last item is processed first, so that few items wait.
    public private(set) var items: [Item]
    /// Number of records examined and of copies changed in views.
    public private(set) var work = 0

    public init(_ items: [Item] = []) { self.items = items }

    public mutating func add(_ item: Item) { items.append(item) }

    /// Processes the items.
    /// - Parameter mayGoOn: called before each further record with the ``work`` so far; `false` stops.
    /// - Returns: `true` if nothing is left.
    public mutating func run(in transaction: any HierarchyTransaction, while mayGoOn: (Int) -> Bool) throws -> Bool {
        while let item = items.last {
            let children = try transaction.children(
                of: item.name, in: item.zone, after: item.after, limit: Self.pageSize)
            let target =
                try item.view == nil
                ? transaction.hierarchy(below: transaction.record(named: item.name, in: item.zone)) : nil
            items.removeLast()
            let place = items.count
            var last: Name?
            for child in children {
                if work > 0, !mayGoOn(work) {
                    items.insert(last.map { item.going(on: $0) } ?? item, at: place)
                    return false
                }
                work += 1
                if let hides = try look(at: child, of: item, target, in: transaction) {
                    items.append(item.below(child, hides: hides))
                }
                last = child
            }
            if let last, children.count == Self.pageSize { items.insert(item.going(on: last), at: place) }
        }
        return true
    }

    /// Examines a child.
    /// - Returns: whether records below the child may have to be hidden; `nil` if nothing changes below it.
    private mutating func look(
        at child: Name, of item: Item, _ target: Int64?, in transaction: any HierarchyTransaction
    ) throws -> Bool? {
        // The root of a share belongs to the share's own hierarchy, whatever its parent is.
        guard let record = try transaction.record(named: child, in: item.zone), try !transaction.isRoot(record) else {
            return nil
        }
        if child == item.top { return nil }
        if let view = item.view {
            let hierarchy = try transaction.hierarchy(of: record)
            let isSeen = try hierarchy.map { try transaction.views(of: $0).contains(view) } ?? false
            let isNews =
                try isSeen ? transaction.show(record, in: view) : transaction.hide(child, in: view, by: item.signature)
            // Records outside all hierarchies may be among their own ancestors. If a record below them is in a
            // hierarchy, another walk reaches it.
            return hierarchy == nil && !isNews ? nil : item.hides
        }
        let before = record.sharing?.hierarchy
        if before == target {
            // Guests may have been admitted or removed while the parent was in another place that no walk had reached
            // yet. The same then applies to the records below it.
            let change = try transaction.update(record, in: item.zone, wasElsewhere: true, by: item.signature)
            work += change.views
            return change.isOfMembers ? true : nil
        }
        work += try transaction.move(record, to: target, in: item.zone, by: item.signature)
        return before != nil
    }
}

extension HierarchyTransaction {
    /// The number of the hierarchy that a record belongs to, unless its share has ended.
    func hierarchy(of record: StoredRecord?) throws -> Int64? {
        guard let number = record?.sharing?.hierarchy else { return nil }
        return try hierarchy(number)?.number
    }

    /// The number of the hierarchy to which a record's children belong. A record that contains a share passes no
    /// hierarchy on to its children.
    func hierarchy(below parent: StoredRecord?) throws -> Int64? {
        parent?.sharing?.share == nil ? try hierarchy(of: parent) : nil
    }

    /// True for the root of a share that has not ended, and for the record that contains the share.
    func isRoot(_ record: StoredRecord) throws -> Bool {
        guard let sharing = record.sharing, let number = sharing.hierarchy,
            sharing.shareName != nil || sharing.share != nil
        else { return false }
        return try hierarchy(number) != nil
    }

    /// Moves a record to another hierarchy. The record is otherwise unchanged.
    /// - Returns: the number of updated views.
    fileprivate func move(_ record: StoredRecord, to hierarchy: Int64?, in zone: Int64, by signature: Signature) throws
        -> Int
    {
        try place(record, in: zone, under: hierarchy)
        var moved = record
        moved.sharing = RecordSharing.placing(record.sharing, in: hierarchy)
        return try update(moved, in: zone, wasElsewhere: true, by: signature).views
    }

    /// Updates all views after a change of a record.
    /// - Parameter wasElsewhere: true if the record had another place in the hierarchies before.
    /// - Returns: the number of updated views, and whether the record was added to a view or removed from one.
    @discardableResult
    func update(
        _ record: StoredRecord, in zone: Int64, wasElsewhere: Bool, by signature: Signature
    ) throws -> (views: Int, isOfMembers: Bool) {
        let views = try hierarchy(of: record).map { try self.views(of: $0) } ?? []
        // A view may still show the record because of a share that has just ended.
        let others = try wasElsewhere ? self.views(ofZone: zone).subtracting(views) : []
        var isOfMembers = false
        for view in others.sorted() where try hide(record.recordID.recordName, in: view, by: signature) {
            isOfMembers = true
        }
        for view in views.sorted() where try show(record, in: view) { isOfMembers = true }
        return (views.count + others.count, isOfMembers)
    }
}

extension CascadeTransaction {
    /// Updates hierarchies and views after the deletion of a record: it is removed from all views, and the records
    /// below it leave its hierarchy. If it was the root of a share, the share ends.
    /// - Returns: the walks that must be run.
    func followDeletion(of record: StoredRecord, in zone: Int64, by signature: Signature) throws -> [HierarchyWalk.Item]
    {
        guard let sharing = record.sharing, let number = sharing.hierarchy else { return [] }
        let name = record.recordID.recordName
        var items: [HierarchyWalk.Item] = []
        for view in try views(ofZone: zone).sorted() { try hide(name, in: view, by: signature) }
        if let hierarchy = try hierarchy(number), name == hierarchy.rootName || name == hierarchy.shareName {
            items = try endShare(hierarchy, by: signature)
            if name == hierarchy.rootName, let share = try self.record(named: hierarchy.shareName, in: zone) {
                _ = try delete(share, in: zone, by: signature)
            }
        }
        return items + [HierarchyWalk.Item(zone: zone, name: name, view: nil, hides: true, signature: signature)]
    }

    /// Ends a share. The caller must update the record of the share and its root.
    /// - Returns: the walks that must be run.
    func endShare(_ hierarchy: Hierarchy, by signature: Signature) throws -> [HierarchyWalk.Item] {
        try end(hierarchy).flatMap { try dismissal(of: $0, from: hierarchy, by: signature) }
    }

    /// Hides the top of a hierarchy in the view of a user who is no longer a guest.
    /// - Returns: the walk that hides the records below.
    public func dismissal(of view: Int64, from hierarchy: Hierarchy, by signature: Signature) throws -> [HierarchyWalk
        .Item]
    {
        guard let root = hierarchy.rootName else { return [] }
        for name in [root, hierarchy.shareName] { try hide(name, in: view, by: signature) }
        return [HierarchyWalk.Item(zone: hierarchy.zone, name: root, view: view, hides: true, signature: signature)]
    }
}

// MARK: - Removal of types

extension CascadeTransaction {
    /// Updates hierarchies and views after a record was deleted with its type: it is removed from all views, and the
    /// records below it leave its hierarchy.
    /// - Returns: the walks that must be run.
    /// - Throws: `RecordError` BAD_REQUEST if a share needs the record, so that its type can't be deleted.
    public func followRemoval(of record: StoredRecord, in zone: Int64, by signature: Signature) throws -> [HierarchyWalk
        .Item]
    {
        if try isRoot(record), let number = record.sharing?.hierarchy, let hierarchy = try hierarchy(number) {
            throw SchemaRules.needed(record.recordID, of: record.recordType, by: hierarchy.shareName)
        }
        return try followDeletion(of: record, in: zone, by: signature)
    }

    /// Walks through the trees below records that were deleted with their type, as far as the limit of a request
    /// permits. The rest is done after the commit.
    /// - Parameter mayGoOn: called before each further record; `false` postpones the rest earlier.
    public func finish(walks: [HierarchyWalk.Item], while mayGoOn: () -> Bool) throws {
        if walks.isEmpty { return }
        var walk = HierarchyWalk(walks)
        if try !walk.run(in: self, while: { $0 < BatchModifier.cascadeLimit && mayGoOn() }) { try enqueue(walk.items) }
    }
}
