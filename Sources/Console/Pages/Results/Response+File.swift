internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Response {
    /// Records as a file. JSON is shown by browsers, the others are kept.
    /// - Parameter name: what the file is called, without its ending. Anything but letters, digits, dots and underscores becomes a hyphen.
    static func file(_ bytes: [UInt8], format: ResultFormat, name: String) -> Response {
        file(.pieces(of: bytes), format: format, name: name)
    }

    static func file(_ body: ResponseBody, format: ResultFormat, name: String) -> Response {
        let safe = String(decoding: name.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: "."): byte
            default: UInt8(ascii: "-")
            }
        }, as: UTF8.self)
        let disposition = format == .json ? "inline" : "attachment"
        return Response(
            status: .ok,
            headers: [
                .contentType: format.mediaType, .cacheControl: "no-store",
                .contentDisposition: "\(disposition); filename=\"\(safe).\(format.rawValue)\"",
            ], body: body)
    }

    /// Why there is no file, as the web services say it.
    static func refusal(_ error: RecordError) -> Response {
        var response = json(RecordFileWriter.error(error, of: nil) + [UInt8(ascii: "\n")], status: error.code.httpStatus)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}
