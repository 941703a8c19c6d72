internal import Foundation
public import Records

/// The rules of `assets/upload` and `assets/rereference`, shared by all engines.
public struct AssetRules {
    private let schema: Schema
    private let environment: Environment
    private let scope: DatabaseScope
    private let caller: Caller
    private let now: Timestamp
    private let grants: GrantRules

    /// - Parameter roleNumbers: returns the numbers of the caller's roles, as for ``GrantRules``.
    public init(
        schema: Schema, address: DatabaseAddress, caller: Caller, now: Timestamp,
        roleNumbers: @escaping () throws -> Set<Int64>
    ) {
        self.schema = schema
        environment = address.environment
        scope = address.scope
        self.caller = caller
        self.now = now
        grants = GrantRules(address, caller, roleNumbers: roleNumbers)
    }

    /// Grants an upload for each request. Each request has its own result.
    /// - Parameters:
    /// - zone: the zone of the records; the default zone if the request names none.
    /// - isAnyZone: `true` if the asset may be used in any zone of the database.
    /// - record: returns a record of the zone by name. Called only if needed.
    /// - Throws: `RecordError` if the caller is not signed in.
    public func uploads(
        for requests: [UploadRequest], in zone: TransactionZone, isAnyZone: Bool, tickets: AssetTickets,
        record: (Name) throws -> StoredRecord?
    ) throws -> [Result<UploadGrant, RecordError>] {
        try grants.checkSignedIn()
        return try requests.map { request in
            do {
                return .success(try grant(request, in: zone, isAnyZone: isAnyZone, tickets, record))
            } catch let error as RecordError {
                return .failure(error)
            }
        }
    }

    private func grant(
        _ request: UploadRequest, in zone: TransactionZone, isAnyZone: Bool, _ tickets: AssetTickets,
        _ record: (Name) throws -> StoredRecord?
    ) throws -> UploadGrant {
        if !zone.canWrite { throw RecordError(known: .notPermitted, Grant.Permission.write.rawValue) }
        let recordName = request.recordName ?? Name(UUID().uuidString)
        try NameRules.checkRecordName(recordName)
        try checkGrants(request, record)
        try checkField(request)
        let ticket = UploadTicket(
            number: AssetTickets.makeNumber(),
            expires: Timestamp(milliseconds: now.milliseconds + AssetTickets.uploadLifetime),
            slot: isAnyZone
                ? SlotDigest(
                    anyZoneOf: scope, recordType: request.recordType, recordName: recordName,
                    fieldName: request.fieldName,
                    user: caller.userRecordName)
                : SlotDigest(
                    zone: zone.key, recordType: request.recordType, recordName: recordName,
                    fieldName: request.fieldName,
                    user: caller.userRecordName))
        return UploadGrant(recordName: recordName, fieldName: request.fieldName, ticket: tickets.seal(ticket))
    }

    /// Checks the permissions that the later save needs.
    private func checkGrants(_ request: UploadRequest, _ record: (Name) throws -> StoredRecord?) throws {
        guard grants.areAsked || request.recordType == Schema.usersType else { return }
        let existing = try request.recordName.flatMap(record)
        if let existing, existing.recordType == request.recordType { return try grants.checkWriting(existing, schema) }
        try grants.checkCreating(request.recordType, schema)
    }

    /// Rejects an upload early if the later save would certainly fail.
    private func checkField(_ request: UploadRequest) throws {
        if let type = schema.types[request.recordType]?.fields[request.fieldName]?.type {
            if type.valueType == .asset { return }
            throw RecordError(known: .wrongValueType, "ASSETID", request.fieldName, request.recordType, type.wireName)
        }
        // Rejects fields that can't be created: any in production, and invalid names.
        var justInTime = JustInTimeSchema(schema, environment: environment)
        let sample = FieldInput(.asset(Asset(fileChecksum: "", size: 0)))
        _ = try justInTime.resolve([request.fieldName: sample], from: .client(scope), in: request.recordType)
    }

    /// Returns assets of existing records with receipts for the target zone. Their files are kept until the receipts
    /// expire.
    public func rereference(
        _ sources: [AssetSource], from source: TransactionZone, to target: TransactionZone,
        _ transaction: any RecordTransaction
    ) throws -> [Result<Asset, RecordError>] {
        try grants.checkSignedIn()
        return try sources.map { item in
            do {
                return .success(try rereference(item, from: source, to: target, transaction))
            } catch let error as RecordError {
                return .failure(error)
            }
        }
    }

    private func rereference(
        _ source: AssetSource, from zone: TransactionZone, to target: TransactionZone,
        _ transaction: any RecordTransaction
    ) throws -> Asset {
        if !target.canWrite { throw RecordError(known: .notPermitted, Grant.Permission.write.rawValue) }
        guard let record = try transaction.record(named: source.recordName, in: zone.key),
            zone.guest.map({ $0.permission(for: record) != nil }) ?? true
        else { throw RecordError.recordNotFound }
        try grants.checkReading(record, schema)
        let assets = try record.fields.assets().filter { $0.field == source.fieldName }.map(\.asset)
        guard !assets.isEmpty else {
            throw RecordError(
                .badRequest, "The field '\(source.fieldName)' of the record '\(source.recordName)' has no asset")
        }
        if source.index == nil, assets.count > 1 {
            throw RecordError(
                .badRequest,
                "Field '\(source.fieldName)' of the record '\(source.recordName)' is a list of \(assets.count) assets; choose one with 'index', from 0"
            )
        }
        let index = source.index ?? 0
        guard assets.indices.contains(index), let checksum = FileChecksum(assets[index].fileChecksum) else {
            throw RecordError(
                .badRequest,
                "Field '\(source.fieldName)' of the record '\(source.recordName)' has no asset at index \(index)")
        }
        var asset = assets[index]
        let expires = Timestamp(milliseconds: now.milliseconds + AssetTickets.receiptLifetime)
        guard try transaction.keepAsset(checksum, inUseUntil: expires) else {
            throw RecordError(
                .internalError,
                "The file of the asset is not in the asset store; run `skylight assets verify` for details")
        }
        asset.receipt = transaction.assetTickets.seal(
            AssetReceipt(
                number: AssetTickets.makeNumber(), expires: expires,
                slot: SlotDigest(zone: target.key, user: caller.userRecordName),
                checksum: checksum, size: asset.size))
        return asset
    }
}

// MARK: - Saves

// A record may refer only to files that are stored and that its caller was allowed to use.

extension BatchModifier {
    /// Replaces the assets in saved values by their stored form: assets that the field had before, and assets with a
    /// valid receipt, which is then used up.
    /// - Throws: `RecordError` BAD_REQUEST with the field and the remedy.
    func admittingAssets(
        _ values: [Name: Field], replacing before: [Name: Field], in zone: TransactionZone, type: Name, name: Name
    ) throws -> [Name: Field] {
        // A key path would be made anew for each field.
        if values.values.allSatisfy({ $0.value.assets.isEmpty }) { return values }
        return try values.mapValues { field in
            switch field.value {
            case .asset(let asset):
                let admitted = try admit(asset, to: field.name, replacing: before, in: zone, type: type, name: name)
                return Field(name: field.name, value: .asset(admitted), isEncrypted: field.isEncrypted)
            case .list(let elements, .asset?):
                let admitted = try elements.map { element in
                    guard case .asset(let asset) = element else { return element }
                    return .asset(try admit(asset, to: field.name, replacing: before, in: zone, type: type, name: name))
                }
                return Field(name: field.name, value: .list(admitted, of: .asset), isEncrypted: field.isEncrypted)
            default: return field
            }
        }
    }

    private func admit(
        _ asset: Asset, to field: Name, replacing before: [Name: Field], in zone: TransactionZone, type: Name,
        name: Name
    ) throws -> Asset {
        let fileName = asset.fileName.flatMap { $0.isEmpty ? nil : AssetFileName.safe($0) }
        // Checked first, so that a save that is repeated after a lost response succeeds although its receipt is used
        // up.
        let held = [before[field], formerFields[field]].flatMap { $0?.value.assets ?? [] }
        if var kept = held.first(where: { Name($0.fileChecksum) == Name(asset.fileChecksum) }) {
            // A file that is missing from the ledger must be uploaded again.
            if try FileChecksum(kept.fileChecksum).map(transaction.hasAsset) ?? false {
                if let fileName { kept.fileName = fileName }
                return kept
            }
            if asset.receipt == nil { throw Self.isGone(field) }
        }
        guard let text = asset.receipt else {
            throw RecordError(
                .badRequest,
                "The asset in field '\(field)' has no receipt: upload the file with assets/upload, or reuse another record's file with "
                    + "assets/rereference, and save the returned value")
        }
        guard let receipt = transaction.assetTickets.openReceipt(text) else {
            throw RecordError(
                .badRequest,
                "The receipt of the asset in field '\(field)' is not from this database, or was changed; upload the file again"
            )
        }
        let user = caller.userRecordName
        let fitting = [
            SlotDigest(zone: zone.key, recordType: type, recordName: name, fieldName: field, user: user),
            SlotDigest(anyZoneOf: database, recordType: type, recordName: name, fieldName: field, user: user),
            SlotDigest(zone: zone.key, user: user),
        ]
        guard fitting.contains(receipt.slot) else {
            throw RecordError(
                .badRequest,
                "The receipt of the asset in field '\(field)' belongs to another field, record, type, zone or user; upload the file for this field, "
                    + "or use assets/rereference")
        }
        if receipt.expires < now {
            throw RecordError(
                .badRequest, "The receipt of the asset in field '\(field)' has expired; upload the file again")
        }
        guard Name(receipt.checksum.description) == Name(asset.fileChecksum), receipt.size == asset.size else {
            throw RecordError(
                .badRequest,
                "'fileChecksum' and 'size' of the asset in field '\(field)' do not match the upload; save the value that the upload returned"
            )
        }
        guard try transaction.spend(receipt) else {
            throw RecordError(
                .badRequest,
                "The receipt of the asset in field '\(field)' was already used, and is valid for one save; upload the file again, or use assets/rereference"
            )
        }
        guard try transaction.hasAsset(receipt.checksum) else {
            throw Self.isGone(field)
        }
        let isPrivate = database != .public
        return Asset(
            fileChecksum: receipt.checksum.description, size: receipt.size,
            referenceChecksum: isPrivate ? asset.referenceChecksum : nil,
            wrappingKey: isPrivate ? asset.wrappingKey : nil, fileName: fileName)
    }

    private static func isGone(_ field: Name) -> RecordError {
        RecordError(
            .badRequest, "The file of the asset in field '\(field)' is no longer on the server; upload it again")
    }
}
