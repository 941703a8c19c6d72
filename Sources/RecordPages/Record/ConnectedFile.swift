internal import CloudKitRecordStore
internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import RecordStore
internal import Records
internal import Text

/// A file of a record in iCloud. The console passes it on, because CloudKit's own addresses expire within the hour.
enum ConnectedFile {
    /// The address of a file.
    /// - Parameter index: the place in a list of assets.
    static func address(_ field: Name, at index: Int, of recordID: RecordID, _ place: Place) -> String {
        place.inZone(recordID.zoneID).link(
            "record/file", [("name", recordID.recordName.string), ("field", field.string), ("index", String(index))])
    }

    /// The addresses of a record's files, in the order of ``FieldsText/assets()``.
    static func addresses(of assets: [(field: Name, asset: Asset)], of recordID: RecordID, _ place: Place) -> [String] {
        var counts: [Name: Int] = [:]
        return assets.map { asset in
            let index = counts[asset.field, default: 0]
            counts[asset.field] = index + 1
            return address(asset.field, at: index, of: recordID, place)
        }
    }

    /// - Throws: `RecordError` NOT_FOUND if the record has no such file.
    static func response(_ visit: Visit) async throws -> Response {
        guard let database = try visit.cloudKit() else { throw RecordError(.notFound, "The files of this container have addresses of their own") }
        guard let name = visit.fields.text("name").map({ Name($0) }), let field = visit.fields.text("field").map({ Name($0) }),
            let zoneID = visit.place.zoneID, case let index = visit.fields.number("index", in: 0...Int.max) ?? 0
        else { throw RecordError(.badRequest, "The address needs the record's name, its zone, and a field") }
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        let record = try await RecordView.record(name, in: zoneID, visit: visit)
        let assets = try record.fields.assets().filter { $0.field == field }
        guard assets.indices.contains(index) else { throw RecordError(.notFound, "The record has no such file") }
        let asset = assets[index].asset
        guard asset.size >= 0 else { throw RecordError(.internalError, "iCloud does not tell the size of the file") }
        let body = ResponseBody(contentLength: Int(clamping: asset.size)) { writer in
            var left = asset.size
            try await database.download(field, at: index, of: recordID) { part in
                left -= Int64(part.readableBytes)
                // The record may have another file by now. Bytes after the announced ones would be taken for the next answer.
                guard left >= 0 else { throw RecordError(.conflict, "The file was replaced while it was read") }
                try await writer.write(part)
            }
            guard left == 0 else { throw RecordError(.conflict, "The file was replaced while it was read") }
            try await writer.finish(nil)
        }
        let fileName = PercentEncoding.encoded(AssetFileName.safe(asset.fileName ?? field.string))
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream", .cacheControl: "no-store", .contentDisposition: "attachment; filename*=UTF-8''\(fileName)",
            ], body: body)
    }
}
