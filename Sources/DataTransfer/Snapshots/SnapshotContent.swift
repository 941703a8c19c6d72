internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// The databases of a snapshot, or those of the present.
struct SnapshotContent: Sendable {
    let publicExport: ExportFile
    /// The exports of private databases, by the record names of their users.
    let privateExports: [Name: ExportFile]

    /// - Throws: ``SnapshotError`` if a file is missing or damaged.
    init(_ files: [String], in folder: URL) throws {
        var (publicExport, privateExports): (ExportFile?, [Name: ExportFile]) = (nil, [:])
        for name in files {
            let url = folder.appending(path: name)
            let export: ExportFile?
            do { export = try ExportFile(url) } catch let error as ImportError { throw SnapshotError(.damaged, error.description) }
            guard let export else { throw SnapshotError(.damaged, "'\(url.path(percentEncoded: false))' is not an export") }
            switch (name == Snapshot.publicFile, export.header.address.scope, export.header.user) {
            case (true, .public, nil): publicExport = export
            case (false, .private, let user?): privateExports[user.userRecordName] = export
            default: throw SnapshotError(.damaged, "'\(url.path(percentEncoded: false))' is the export of another database than its name says")
            }
        }
        guard let publicExport else { throw SnapshotError(.damaged, "The snapshot in '\(folder.path(percentEncoded: false))' has no \(Snapshot.publicFile)") }
        (self.publicExport, self.privateExports) = (publicExport, privateExports)
    }

    init(_ snapshot: Snapshot) throws { try self.init(snapshot.files, in: snapshot.url) }

    /// True if there is nothing but the schema of a new container.
    func isEmpty() throws -> Bool {
        var records = try ExportedLines(publicExport)
        return try privateExports.isEmpty && publicExport.header.isEmpty && SchemaDifference(from: .initial, to: schema).isEmpty && records.next() == nil
    }

    var schema: Schema { publicExport.header.schema }

    /// The databases of two contents: the public one first, then those of users by record name.
    static func pairs(_ before: SnapshotContent, _ after: SnapshotContent) -> [(user: ExportHeader.User?, before: ExportFile?, after: ExportFile?)] {
        let users = Set(before.privateExports.keys).union(after.privateExports.keys).sorted()
        return [(nil, before.publicExport, after.publicExport)]
            + users.map { name in
                let (old, new) = (before.privateExports[name], after.privateExports[name])
                return (new?.header.user ?? old?.header.user, old, new)
            }
    }
}

extension ExportHeader {
    /// True if the database has nothing but records.
    var isEmpty: Bool { zones.isEmpty && subscriptions.isEmpty && keyValues.isEmpty }
}
