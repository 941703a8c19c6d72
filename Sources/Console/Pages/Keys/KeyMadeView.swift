internal import Accounts
internal import JSON
internal import Records

/// A server-to-server key just after it was registered, and how a request is signed with it.
struct KeyMadeView: Page {
    static let template = "key_made"
    static let tab = Tab.keys

    let title = "A new server key"
    let name: String
    let keyID: String
    let userRecordName: String
    let container: String
    let environment: String
    /// What is signed and asked, from the path on.
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
