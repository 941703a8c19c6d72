internal import Accounts
internal import Console
internal import JSON
internal import Records

/// A newly registered server-to-server key, with an example of a signed request.
struct KeyMadeView: Page {
    static let template = "key_made"
    static let tab = Tab.keys

    let title = "A new server key"
    let name: String
    let keyID: String
    let userRecordName: String
    let container: String
    let environment: String
    /// The path and query of the example request.
    let target: String
    let signature: String
    let back: String

    init(_ key: ServerKey, _ visit: Visit) {
        name = key.name
        keyID = key.keyID
        userRecordName = key.userRecordName.string
        container = key.container.description
        environment = key.environment.rawValue
        target = "/database/1/\(key.container)/\(key.environment.rawValue)/public/zones/list"
        signature = visit.place.link("keys/signature")
        back = visit.place.link("keys")
    }
}
