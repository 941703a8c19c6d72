internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Response {
    /// Records as a file. Browsers display JSON and download the other formats.
    /// - Parameter name: the file name without extension. Characters other than letters, digits, dots and underscores become hyphens.
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

    /// An error in the format of the web services, in place of a file.
    static func refusal(_ error: RecordError) -> Response {
        var response = json(RecordFileWriter.error(error, of: nil) + [UInt8(ascii: "\n")], status: error.code.httpStatus)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}
