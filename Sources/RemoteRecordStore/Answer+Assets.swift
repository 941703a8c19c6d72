internal import AssetStore
internal import JSON
internal import RecordStore
internal import Records

extension Answer {
    /// An upload grant. Its ticket is the last path component of the upload address.
    func uploadGrant() throws -> UploadGrant {
        guard let ticket = try string("url").split(separator: "/").last else { throw unexpected("an upload address") }
        return UploadGrant(recordName: try name("recordName"), fieldName: try name("fieldName"), ticket: String(ticket))
    }

    /// An asset for use in a save.
    func asset() throws -> Asset {
        Asset(
            fileChecksum: try string("fileChecksum"), size: try integer("size"), referenceChecksum: try optionalString("referenceChecksum"),
            wrappingKey: try optionalString("wrappingKey"), receipt: try optionalString("receipt"), fileName: try optionalString("fileName"))
    }

    func assetUse() throws -> AssetUse {
        AssetUse(
            isPublic: try string("database") == DatabaseScope.public.rawValue, zoneID: try zoneID(), recordName: try name("recordName"),
            recordType: try name("recordType"), fieldName: try name("fieldName"))
    }

    func verification() throws -> AssetVerification {
        var verification = AssetVerification()
        verification.filesDone = Int(try integer("filesDone"))
        verification.filesTotal = Int(try integer("filesTotal"))
        verification.bytesDone = try integer("bytesDone")
        verification.bytesTotal = try integer("bytesTotal")
        verification.referencesDone = Int(try integer("referencesDone"))
        verification.unusedFiles = Int(try integer("unusedFiles"))
        verification.unusedBytes = try integer("unusedBytes")
        if has("problems") { verification.problems = try array("problems").map { try $0.problem() } }
        return verification
    }

    private func problem() throws -> AssetVerification.Problem {
        guard let kind = AssetVerification.Problem.Kind(rawValue: try string("problem")) else { throw unexpected("a problem that is known") }
        return AssetVerification.Problem(
            kind: kind, checksum: try string("fileChecksum"), use: try optionalObject("use")?.assetUse(), explanation: try string("explanation"))
    }

    func sweep() throws -> AssetSweep {
        var sweep = AssetSweep()
        sweep.removed = try array("removed").map { file in
            AssetSweep.File(
                checksum: try file.optionalString("fileChecksum").flatMap { FileChecksum($0) }, name: try file.string("name"),
                bytes: try file.integer("bytes"))
        }
        sweep.waiting = Int(try integer("waiting"))
        sweep.isDryRun = try bool("dryRun")
        return sweep
    }
}
