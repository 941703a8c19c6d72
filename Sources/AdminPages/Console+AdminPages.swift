package import Console
package import HTTPServing

extension Console {
    /// Adds the pages of the schema, the environments, the users and their keys, the connections and the checks.
    /// - Parameter open: for the page that all clients may load.
    package func addAdminPages(to router: Routes.Group, open: Routes.Group) {
        show("types", on: router) { .page(try await TypesView.load($0)) }
        show("type", on: router) { .page(try await TypeView.load($0)) }
        show("type/remove", on: router) { .page(try await TypeActions.confirmRemoval($0)) }
        show("field/remove", on: router) { .page(try await TypeActions.confirmFieldRemoval($0)) }
        show("indexes", on: router) { .page(try await IndexesView.load($0)) }
        show("roles", on: router) { .page(try await RolesView.load($0)) }
        show("history", on: router) { .page(try await HistoryView.load($0)) }
        show("schema", on: router) { .page(try await SchemaView.load($0)) }
        show("users", on: router) { .page(try await UsersView.load($0, access)) }
        show("users/user", on: router) { .page(try await UserView.load($0)) }
        show("users/remove", on: router) { .page(try UserRemovalActions.confirm($0)) }
        submit("types/create", carries: .choices, on: router) { try await TypeActions.create($0) }
        act("type/remove", on: router) { try await TypeActions.remove($0) }
        act("field/add", on: router) { try await TypeActions.addField($0) }
        act("field/remove", on: router) { try await TypeActions.removeField($0) }
        act("type/title", on: router) { try await TitleForm.choose($0) }
        act("type/indexes", on: router) { try await SchemaActions.changeIndexes($0) }
        act("composites/change", on: router) { try await SchemaActions.changeCompositeIndexes($0) }
        act("roles/add", on: router) { try await RoleActions.add($0) }
        act("roles/remove", on: router) { try await RoleActions.remove($0) }
        act("roles/give", on: router) { try await RoleMembers.give($0) }
        act("roles/take", on: router) { try await RoleMembers.take($0) }
        act("roles/grants", on: router) { try await RoleActions.setGrants($0) }
        act("users/add", on: router) { try await UsersView.add($0) }
        act("users/remove", on: router) { try await UserRemovalActions.remove($0) }
        addSchemaPages(to: router)
        addKeyPages(to: router)
        addFaults(to: router)
        addCheckPages(to: router)
        addSnapshotPages(to: router)
        addConnectionPages(to: router, open: open)
    }
}
