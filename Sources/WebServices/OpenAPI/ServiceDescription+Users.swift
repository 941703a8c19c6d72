internal import JSON

// The services under users/.

extension UsersCaller: DescribedService {
    static let described = ServiceDescription(
        "Ask who one is", "The user alone, and as the one element of `users`: clients read either.",
        answers: .object(
            ["userRecordName": .string, "users": .array(of: .named(.userIdentity))],
            optional: ["nameComponents": Components.nameComponents, "lookupInfo": .named(.userLookup)]))
}

extension UsersCurrent: DescribedService {
    static let described = ServiceDescription(
        "Ask who one is (deprecated)", "users/caller in an older form.",
        answers: user)
}

private let user = JSONSchema.object(["userRecordName": .string], optional: ["firstName": .string, "lastName": .string, "emailAddress": .string])
private let users = JSONSchema.object(["users": .array(of: .either(user, .named(.userError)))])

extension UsersDiscover: DescribedService {
    static let described = ServiceDescription(
        "Find users", "By GET all that may be found; by POST an item for each of `lookupInfos`, in the order of the request.",
        takes: .object(optional: ["lookupInfos": .items(of: .named(.userLookup))]), takesSameByGET: false,
        answers: .object(["users": .array(of: .either(.named(.userIdentity), .named(.userError)))]))
}

extension UsersLookupEmail: DescribedService {
    static let described = ServiceDescription(
        "Find users by their e-mail addresses (deprecated)", takes: .object(["users": .items(of: .object(["emailAddress": .string]))]), answers: users)
}

extension UsersLookupID: DescribedService {
    static let described = ServiceDescription(
        "Find users by their record names (deprecated)", takes: .object(["users": .items(of: .object(["userRecordName": .string]))]), answers: users)
}

extension UsersLookupContacts: DescribedService {
    static let described = ServiceDescription("Find all users (deprecated)", answers: .object(["users": .array(of: user)]))
}
