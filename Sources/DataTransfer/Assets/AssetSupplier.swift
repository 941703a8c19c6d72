internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// Uploads the asset files for records before the records are restored, because each save needs upload receipts.
///
/// Uploads equal bytes only once: later records rereference the asset of the first saved record.
final class AssetSupplier: Sendable {
    /// A record field whose asset could not be uploaded.
    struct Failure: Error {
        /// The index of the operation in its batch.
        let index: Int
        let error: RecordError
    }

    /// An asset in a field of an operation.
    private struct Place {
        let index: Int
        let recordName: Name
        let slot: AssetSlot
        /// The index of the asset in the field.
        let number: Int
        let asset: Asset
        let checksum: FileChecksum
    }

    /// A record that has the bytes.
    private struct Home {
        let zoneID: ZoneID
        let source: AssetSource
    }

    private let exchange: AssetExchange
    private let homes = Mutex<[FileChecksum: Home]>([:])

    init(_ exchange: AssetExchange) {
        self.exchange = exchange
    }

    /// Adds receipts to the operations of a batch with assets.
    /// - Throws: ``Failure`` if an upload is refused; ``AssetFileError`` if an asset's file is no longer readable.
    func supply(_ batch: SaveBatch, through database: any RecordDatabase) async throws -> [RecordOperation] {
        let places = try Self.places(in: batch.operations)
        if places.isEmpty { return batch.operations }
        var receipts: [Int: [Name: [Int: String]]] = [:]
        for place in places {
            var receipt: String?
            do {
                receipt = await takenOver(place, in: batch.zoneID, through: database)
                if receipt == nil { receipt = try await uploaded(place, in: batch.zoneID, through: database) }
            } catch let error as RecordError {
                throw Failure(index: place.index, error: error)
            }
            receipts[place.index, default: [:]][place.slot.fieldName, default: [:]][place.number] = receipt
        }
        return batch.operations.enumerated().map { index, operation in
            guard let receipts = receipts[index] else { return operation }
            var operation = operation
            for (name, receipts) in receipts { operation.fields[name] = operation.fields[name]?.withReceipts(receipts) }
            return operation
        }
    }

    /// Remembers the locations of the assets in a saved batch.
    func note(_ batch: SaveBatch) {
        // The batch was saved, so this step has already succeeded once.
        guard let places = try? Self.places(in: batch.operations), !places.isEmpty else { return }
        homes.withLock { homes in
            for place in places where homes[place.checksum] == nil {
                let source = AssetSource(recordName: place.recordName, fieldName: place.slot.fieldName, index: place.number)
                homes[place.checksum] = Home(zoneID: batch.zoneID, source: source)
            }
        }
    }

    private static func places(in operations: [RecordOperation]) throws(Failure) -> [Place] {
        var places: [Place] = []
        for (index, operation) in operations.enumerated() {
            for (fieldName, input) in operation.fields {
                guard case .tagged(let value, _, _) = input else { continue }
                for (number, asset) in value.assets.enumerated() {
                    guard let recordName = operation.recordName, let type = operation.recordType, let checksum = FileChecksum(asset.fileChecksum) else {
                        let reason = "The asset in field '\(fieldName)' has no checksum from Skylight"
                        throw Failure(index: index, error: RecordError(.badRequest, reason))
                    }
                    let slot = AssetSlot(recordType: type, fieldName: fieldName, recordName: recordName)
                    places.append(Place(index: index, recordName: recordName, slot: slot, number: number, asset: asset, checksum: checksum))
                }
            }
        }
        return places
    }

    /// - Returns: `nil` if no record is known to have the bytes, or it no longer has them.
    private func takenOver(_ place: Place, in zoneID: ZoneID, through database: any RecordDatabase) async -> String? {
        guard let home = homes.withLock({ $0[place.checksum] }) else { return nil }
        // The record may have been deleted or changed. Then the bytes are uploaded.
        guard case .success(let asset)? = try? await database.rereference([home.source], from: home.zoneID, to: zoneID).first else { return nil }
        return Name(asset.fileChecksum) == Name(place.asset.fileChecksum) && asset.size == place.asset.size ? asset.receipt : nil
    }

    private func uploaded(_ place: Place, in zoneID: ZoneID, through database: any RecordDatabase) async throws -> String? {
        let file = try exchange.folder.file(of: place.checksum, size: place.asset.size)
        guard let grant = try await database.grantUploads([place.slot], in: zoneID).first?.get() else { return nil }
        let asset = try await exchange.transport.upload(file, with: grant, fileName: place.asset.fileName)
        guard Name(asset.fileChecksum) == Name(place.asset.fileChecksum) else {
            throw AssetFileError(exchange.folder.path(of: place.checksum), "it was changed while it was being imported")
        }
        return asset.receipt
    }
}

extension FieldInput {
    /// - Parameter receipts: the receipts by the index of the asset in the field.
    fileprivate func withReceipts(_ receipts: [Int: String]) -> FieldInput {
        guard case .tagged(let value, let type, let isEncrypted) = self else { return self }
        func adding(_ receipt: String?, to value: FieldValue) -> FieldValue {
            guard case .asset(var asset) = value else { return value }
            asset.receipt = receipt
            return .asset(asset)
        }
        switch value {
        case .list(let elements, let elementType):
            return .tagged(.list(elements.enumerated().map { adding(receipts[$0], to: $1) }, of: elementType), type, isEncrypted: isEncrypted)
        default: return .tagged(adding(receipts[0], to: value), type, isEncrypted: isEncrypted)
        }
    }
}
