public import Records

extension CascadeTransaction {
    /// Follows the deletion of a record that was deleted with its type: it leaves all views, and the records below it leave its hierarchy.
    /// - Returns: the walks that this takes.
    /// - Throws: `RecordError` BAD_REQUEST if a share needs the record: then the type must stay.
    public func followRemoval(of record: StoredRecord, in zone: Int64, by signature: Signature) throws -> [HierarchyWalk.Item] {
        if try isRoot(record), let number = record.sharing?.hierarchy, let hierarchy = try hierarchy(number) {
            throw SchemaRules.needed(record.recordID, of: record.recordType, by: hierarchy.shareName)
        }
        return try followDeletion(of: record, in: zone, by: signature)
    }

    /// Walks the trees below records that were deleted with their type as far as a request may, and leaves the rest.
    /// - Parameter mayGoOn: asked before each further record; `false` leaves the rest earlier.
    public func finish(walks: [HierarchyWalk.Item], while mayGoOn: () -> Bool) throws {
        if walks.isEmpty { return }
        var walk = HierarchyWalk(walks)
        if try !walk.run(in: self, while: { $0 < BatchModifier.cascadeLimit && mayGoOn() }) { try leave(walk.items) }
    }
}
