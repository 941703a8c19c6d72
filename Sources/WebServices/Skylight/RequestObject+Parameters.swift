internal import Hummingbird
internal import JSON
internal import Records

extension RequestObject {
    /// Reads the query string of a GET as if it were a body. `zone` and `owner` form a
    /// `zoneID`. Parameters that must be whole numbers are parsed; the others stay strings.
    init(parametersOf request: Request) throws {
        var members = JSONObject()
        var zone = JSONObject()
        for (key, text) in request.uri.queryParameters {
            let name = Name(String(key))
            switch name {
            case "zone": zone["zoneName"] = .string(String(text))
            case "owner": zone["ownerRecordName"] = .string(String(text))
            case "resultsLimit", "bytesLimit", "before", "position", "wait": members[name] = Int64(text).map { .integer($0) } ?? .string(String(text))
            case "recordTypes", "fields": members[name] = .array(text.split(separator: ",").map { .string(String($0)) })
            default: members[name] = .string(String(text))
            }
        }
        if zone["zoneName"] != nil { members["zoneID"] = .object(zone) }
        self.init(members)
    }
}
